"""Converters of the operators on tensors, by subject: elements, activations, reductions, order, places, shapes."""
