"""Pooling by windows of a given size, or to a given extent (`adaptive`), the gradients of both, `places` of maxima."""
