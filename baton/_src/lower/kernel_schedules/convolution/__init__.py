"""Convolutions: the algorithms, and the cost model that chooses between them (`conv_choice`, `conv_costs`).

Plain layout: `conv2d` (implicit im2col), `depthwise_lines`, `line_phases`, `conv_unpacked` (nothing packed),
`conv_phases` (transposed). Blocked channels (NCHWc): `conv_blocked` (direct), `blocked_depthwise`, `winograd`.
"""
