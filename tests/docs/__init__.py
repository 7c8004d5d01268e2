"""The pages of the documentation: generated here, and run here."""
