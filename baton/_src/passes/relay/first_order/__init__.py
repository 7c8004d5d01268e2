"""Closures, polymorphism and functions as data taken out of a program."""
