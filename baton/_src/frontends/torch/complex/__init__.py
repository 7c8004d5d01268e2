"""Complex tensors as pairs of real ones: `pair`, `fourier` transforms, and operators on pairs (`paired`,
`running_products`).

Other operators are decomposed beforehand, in terms of PyTorch (`decompositions`): into `functions` of the parts, and
`operators` on real tensors.

Linear algebra is here because it is one for both kinds: `factors` has its converters, `matrices` what is made of them.
"""
