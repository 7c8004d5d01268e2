"""Attention as one kernel: `attention` recognises it, `attention_blocks` computes a block of queries,
`attention_softmax` the softmax of its scores.
"""
