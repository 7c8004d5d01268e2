"""One result element for each element of the (broadcast) operands."""
