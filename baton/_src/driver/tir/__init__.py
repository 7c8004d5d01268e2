"""`tvm.build` (`build`): compile single kernels, and make them callable from Python (`kernel_entries`).

The result is a `driver.kernel_module`.
"""
