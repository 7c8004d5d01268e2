"""Convolutions: transposed, deformable, sparse, by Winograd's transforms, bit-serial; and their gradients."""
