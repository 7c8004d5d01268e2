"""Measuring a model against other runtimes: `peers` run it, `rounds` interleaves them, `report` writes the tables."""
