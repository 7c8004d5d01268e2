"""Implementations behind TVM's names where a re-export does not suffice; each file begins with the name it serves.

A folder for each package: `relax`, `relay`, `tir`, `topi`, `tuning`, `tvmc`, `contrib`, `target`, `testing`, `dlight`.
The files are for `tvm.ir`, the root and packages of one file:

- `containers`, `objects`, `ranges`, `env_func`, `registry`, `supply`, `op_attrs`, `builders`, `compile_module`
- texts and JSON: `texts`, `scripts`, `param_names`, `node_json`, `node_table`, `json_values`
- passes of scripts: `user_passes`, `pass_on_functions`, `reported`
- devices and arrays: `devices`, `arrays`, `local_session` (`tvm.rpc`), `support`

`split_modules` serves modules that are one here, `absent` the names there are not, with the reasons in `left_out/`.
"""
