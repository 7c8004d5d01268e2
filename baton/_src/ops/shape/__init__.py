"""Operators that create or move elements without computing with them: full, reshape, concatenate, slice, ..."""
