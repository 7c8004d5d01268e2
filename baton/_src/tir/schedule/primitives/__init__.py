"""The methods of `Schedule`, by subject; each records itself in the trace."""
