"""Between real numbers and quantised integers, and arithmetic on these (Relay's dialect qnn)."""
