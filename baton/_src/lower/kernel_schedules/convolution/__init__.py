"""Convolutions: the algorithms, and the cost model that chooses between them (`conv_choice`, `conv_costs`).

Plain layout: `conv2d` (implicit im2col), `lines/` (few channels, depthwise), `unpacked/` (nothing packed),
`transposed/`. Blocked channels (NCHWc): `blocked/` (direct, depthwise), `winograd/`.
"""
