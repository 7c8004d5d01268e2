"""Copies, and storage: allocation and views of it."""
