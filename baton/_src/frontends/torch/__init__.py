"""PyTorch to Relax or Relay: one table of aten operators serves both languages through `frontends/graph_builder`.

Every source becomes one kind of program, a `torch.export.ExportedProgram` without side effects: `programs` reads them.
`importer` traverses it, `node` is the converters' view of a node, `table` lists the converters: those of tensors by
subject in `operators`, those of neural networks in `layers`, of complex tensors in `complex`, of control flow in
`control` and `scans`; `unsupported` is the error where there is none. `relax_graph` and `relay_graph` are the entry
points. `symbols`, `guards`, `bounds`, `sizes`, `sym_floats` and `sym_bools` are what programs say of sizes and compute
of them; `tensors` translates dtypes and arrays; `library` imports PyTorch, when needed.
"""
