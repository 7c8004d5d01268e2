"""Complex tensors as pairs of real ones: `pair`, `fourier` transforms, and what operators mean for them (`paired`).

What pairs do not make easy is taken apart before, in terms of PyTorch (`decompositions`): `functions` of the parts, and
`operators` of real tensors.
"""
