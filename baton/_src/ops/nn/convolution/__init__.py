"""Convolution and its kin: transposed, deformable, sparse, by Winograd's transforms, bit by bit; and its gradients."""
