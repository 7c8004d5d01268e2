"""Derivatives of programs, and clearing up behind them."""
