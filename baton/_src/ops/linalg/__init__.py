"""Matrix products, dense and sparse, einsum, Fourier transforms, determinants.

Products: `products` has the type rules and kernels that `matmul`, `dense` and `packed_dense` share; `einsum`; those of
`block_quantised/` take weights of few bits. Sparse matrices: `sparse_matrices`, `sparse`, `sparse_transpose`,
`sparse_coordinates`. Fourier transforms: `fourier_transform` is the operator, with its `fourier_kernel/`;
`fourier_sums` and `fourier_products` serve other lengths; `fourier` has Relay's dft and stft, which become it.
"""
