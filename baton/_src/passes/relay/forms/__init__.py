"""The forms of a program: A-normal, basic-block and graph; calls inlined."""
