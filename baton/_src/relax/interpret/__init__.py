"""Parts of the reference interpreter: run-time values of its own, structural checks, special operators."""
