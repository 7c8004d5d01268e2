"""Matrix products and their kin."""
