"""How memory is addressed, read and written (`memory`): single elements, and vectors of neighbours, of every few
elements (`strided`) or of repeated ones (`repeated`). `neighbour_division` divides indices; `single_lanes` is what LLVM
gets wrong.
"""
