"""Convolutions: the algorithms, and the cost model that chooses between them (`conv_choice`, `conv_costs`).

Plain layout: `conv2d` (implicit im2col, over `packed_lines`), `lines/` (few channels, depthwise), `unpacked/` (nothing
packed), `transposed/`, `few_points`, `open_depthwise` (sizes unknown). Blocked channels (NCHWc): `blocked/` (direct,
depthwise), `winograd/`. Shared: `conv_window` what a kernel is read as, `conv_groups` taken apart, `conv_border`
copied.
"""
