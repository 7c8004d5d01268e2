"""Matrix products, dense and sparse, einsum, Fourier transforms, determinants."""
