"""Reading and printing Relay text."""
