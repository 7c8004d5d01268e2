"""Views and copies of storage."""
