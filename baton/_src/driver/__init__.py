"""The top layer, which may import all others: build, compile, executors, and the binding of layers (`wiring`).

`compile` turns a model in any accepted form into a `model`, which loads without the compiler; `relax`, `relay` and
`tir` build programs of these languages, all through `relax`; `frontends` has the entry points for other frameworks.
`training` and `tuning` build on these, and compilation looks up tuning results in `tuning_records`; `tvm_names` and
`tvm_json` serve TVM's scripts and files.

The files are what several builds share: `targets` as users write them, `kernel_scheduler` the schedule rules as code
generation takes them, `intrinsic_rules` and `added_passes` what scripts add to it, `passes_by_name` and
`pass_languages` which pass is meant and what it may run on, `stages` records of a build to look at, `replay` of a
reproducer, `artifacts` loading what was exported. `kernel_module` is what `tvm.build` gives, `external_code` what code
generators of scripts gave for parts of programs.
"""
