"""Relay's type inference, text, interpreter and analyses."""
