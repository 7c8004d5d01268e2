"""Programs that TVM saved with `tvm.ir.save_json`: `document` is the table of nodes and the order they are made in,
`shared_kinds`, `relay_kinds`, `relax_kinds` and `tir_kinds` say what each kind of node becomes, `attributes` reads
those of calls.
"""
