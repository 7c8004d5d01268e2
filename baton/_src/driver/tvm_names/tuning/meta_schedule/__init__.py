"""`tvm.meta_schedule`: spaces of schedules, strategies that search them, databases of what was measured.

`tune_tasks` is the loop; a `task` (`TuneContext`) has a space and a strategy, candidates are measured by a runner.
"""
