"""`tvm.auto_scheduler`: computations without schedules, for which the space that the rules leave open is searched."""
