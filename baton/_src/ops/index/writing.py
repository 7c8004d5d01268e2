"""Being written (second ops engineer)."""
