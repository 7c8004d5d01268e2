"""`tvm.autotvm`: schedules with knobs that tuners set; logs of measurements, and applying the best of them.

A `task` is either of two: a script's template, whose knobs it defines itself, or a kernel of a Relay program
(`extract`), whose knobs are what the schedule rule for the target leaves open. Knobs: `config`, `entities`,
`knob_values`, `numbering`. Search: `tuners`, `measure`, `callbacks`, `graph_tuner`. Results: `records`, and which of
them are in force: `history`, `dispatch`, `fallback`.
"""
