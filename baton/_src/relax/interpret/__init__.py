"""Parts of the reference interpreter: its run-time values, structural checks, special operators."""
