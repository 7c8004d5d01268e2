"""Measuring a model against other runtimes: `peers` run it `prepared`, PyTorch (`torch_peers`) on a translation
(`torch_graph/`); `rounds` interleaves them, `footprint` is their memory, `report` writes the tables.
"""
