"""Between real numbers and quantised integers."""
