"""`tvm.autotvm`: schedules with knobs that tuners set; logs of measurements, and applying the best of them.

Two kinds of tasks: a script's `template`, whose knobs it defines itself, and a kernel of a Relay program, whose knobs
are what the schedule rule for the target leaves open.
"""
