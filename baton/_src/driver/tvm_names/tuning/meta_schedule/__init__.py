"""`tvm.meta_schedule`: spaces of schedules, strategies that search them, databases of what was measured.

`tune` is the loop (`tune_tasks`) over each `task` (`TuneContext`) that a program gives (`extracted`,
`relax_integration`, `relay_integration`, `tir_integration`; `passes` for pipelines, `apply` for results). Parts of a
task: `spaces` (`schedule_rules`, `block_facts`, `cpu_postprocs`), `strategies` (`resampler`), `cost_models`
(`feature_extractors`, `boosted_trees`), `default_parts`, and a script's own (`kernel_parts`, `derived`, `kinds`).
Candidates are measured (`measuring`: `building`, `running`), then told to `callbacks` and kept in `database`s
(`databases`, `records`); `profiler` says what took the time, `cpus` how many there are.
"""
