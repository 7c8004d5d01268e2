"""TensorFlow Lite models (`.tflite`, LiteRT) to Relax and Relay.

reader.py       bytes -> graphs of operators over tensors
importer.py     runs operators through their converters
node.py         an operator as its converter sees it: operands, options, what quantised numbers stand for
table.py        which converter an operator has; the others hold converters by subject
relax_graph.py, relay_graph.py  `from_tflite`
"""
