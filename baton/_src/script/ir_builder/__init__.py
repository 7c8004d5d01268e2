"""Programs built by `with` statements (`tvm.script.ir_builder`): `base` is the stack of frames; the other files are the
frames and functions of each language.
"""
