"""TVM's tuning interfaces, each in a folder; all of them measure through `driver/tuning`.

What they share is here: the `workloads` that records belong to, and the `rule_space` around the rules' own choices.
"""
