"""The forms of a program: A-normal, basic-block, graph and continuation-passing; calls inlined."""
