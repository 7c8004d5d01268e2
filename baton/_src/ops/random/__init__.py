"""Drawing numbers."""
