"""TVM's ways to build and run Relay, all over the executable that `driver/relax` builds (`executable`).

`build` is `relay.build`, for programs that a graph executor can run (`graph_fragment`), with `build_module` and
`build_options` beside it; `executors` evaluate expressions; `vm` is `relay.vm`; `to_relax` gives the Relax program.
`external_code` compiles what a script's own code generator takes, `quantization` quantises, `prelude` has lists and
trees.
"""
