"""Complex tensors as pairs of real ones: `pair`, `fourier` transforms, and what operators mean for them (`paired`)."""
