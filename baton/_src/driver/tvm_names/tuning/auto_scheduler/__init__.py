"""`tvm.auto_scheduler`: for computations without schedules, search the space of the rules' tunable choices."""
