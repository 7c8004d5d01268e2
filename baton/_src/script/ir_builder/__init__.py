"""Programs built by `with` statements (`tvm.script.ir_builder`): `base` the stack of frames, then each language's."""
