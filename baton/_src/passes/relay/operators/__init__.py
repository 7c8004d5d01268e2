"""Operators as other operators: cheaper, fewer, folded into weights, in another precision."""
