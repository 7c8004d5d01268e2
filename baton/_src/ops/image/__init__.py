"""Resampling of images, at sizes or at points; their dilation.

`resize` (sizes), `upsampling` (factors), `dynamic_resize` (tensors) and `crop_and_resize` (boxes) share `resampling`
and `resize_kernel`; `grid_sampling` reads at points, which `affine_grid` makes.
"""
