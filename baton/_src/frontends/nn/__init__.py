"""Models written as modules (`tvm.relax.frontend.nn`): tensors, parameters, layers, and their export to Relax.

`module` Module, ModuleList, parameters by name; `tensor` what flows through `forward`; `layers` and `diffusion` layers;
`op` the functional operators, with `kernel_ops`, `image_ops`, `ordering_ops`, `sampling_ops`; `effects` state; `extern`
functions from outside; `subroutine` modules as private functions; `mutator` changes models in place; `spec` what inputs
look like; `export` methods as functions of an IRModule.
"""
