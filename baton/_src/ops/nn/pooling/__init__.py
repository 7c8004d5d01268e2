"""Pooling by windows of a given size, or to a given extent (`adaptive`), and the gradients of both."""
