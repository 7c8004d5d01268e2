"""A kernel as stages, and the words for building loop nests of them."""
