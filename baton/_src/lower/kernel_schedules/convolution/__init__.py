"""Convolutions: the ways to compute one, what each costs, Winograd."""
