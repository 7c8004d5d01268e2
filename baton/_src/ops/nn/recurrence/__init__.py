"""Recurrent layers: the operator, its one kernel, and its gradient."""
