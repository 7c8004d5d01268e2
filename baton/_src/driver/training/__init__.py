"""Training (`tvm.relax.training`) over the gradient pass: a `loss` is appended to a network (`append_loss`), an
`optimizer` added (`setup_trainer`), and a `trainer` steps.
"""
