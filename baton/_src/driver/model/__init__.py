"""A compiled model as users hold it, and loading one. Imports nothing of the compiler."""
