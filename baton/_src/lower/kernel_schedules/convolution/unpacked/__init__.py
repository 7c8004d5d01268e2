"""Convolutions that read their input in place (`conv_unpacked`).

`tasks` are its parts, `choice` picks them; `runs` and `tall_runs` of points are `sums` in registers; `border_bands`
copy what needs a border.
"""
