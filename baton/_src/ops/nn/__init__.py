"""Neural-network operators: convolution, pooling, activations, normalisation, losses, attention."""
