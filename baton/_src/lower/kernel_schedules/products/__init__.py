"""Matrix products: tiles of registers, packed panels, few rows, narrow types."""
