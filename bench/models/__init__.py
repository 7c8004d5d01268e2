"""Models to measure and to test with, written by the `onnx` package alone; their weights are random but seeded.

zoo.py      the table: name -> builder, example sizes
graph.py    what the builders write nodes with
write.py    `python -m bench.models.write NAME -o FILE`
the others  one family of models a file, each with `build…(**options) -> onnx.ModelProto`
"""
