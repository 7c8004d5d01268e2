"""Convert operators to other layouts, with transforms only where layouts meet."""
