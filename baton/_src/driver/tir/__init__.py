"""`tvm.build` (`build`): compile single kernels, and make them callable from Python (`kernel_entries`).

`kernel_module` is the result.
"""
