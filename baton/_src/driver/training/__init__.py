"""Training (`tvm.relax.training`): losses, optimizers and trainers over the gradient pass."""
