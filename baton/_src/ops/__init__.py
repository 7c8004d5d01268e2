"""The operators, each in one place. `catalogue` lists them; `builders` derives each language's functions from them.

`kernel_words` is what their kernels are written with, `samples` what their tests are fed with.
"""
