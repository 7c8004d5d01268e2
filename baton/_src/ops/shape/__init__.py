"""Operators that only move elements: reshape, transpose, concatenate, pad, ..."""
