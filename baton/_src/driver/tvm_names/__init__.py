"""Implementations behind TVM's names where a re-export does not suffice; each file begins with the name it serves.

A folder for each large package: `relax`, `relay`, `tir`, `topi`, `tuning`, `tvmc`, `contrib`. Files for the small ones:

- `tvm.ir` and the root: `containers`, `objects`, `ranges`, `env_func`, `registry`, `supply`, `op_attrs`, `builders`,
  `compile_module`; texts and JSON: `texts`, `scripts`, `param_names`, `node_json`, `node_table`, `json_values`
- passes of scripts: `user_passes`, `pass_on_functions`, `reported`
- devices and targets: `devices`, `targets`, `boards`, `generic_functions`, `llvm_facts`, `support`
- `tvm.testing`: `testing`, `compare_before_after`, and for pytest `pytest_plugin`, `pytest_marks`, `pytest_features`
- `tvm.dlight`: `dlight`, `dlight_blocks`; `tvm.rpc`: `local_session`; `arrays` of elsewhere

`split_modules` serves modules that are one here, `absent` the names there are not, with the reasons in `left_out/`.
"""
