"""`compile`: from a model in any accepted form to a compiled one.

`read_program` reads models (`read_text` those that are text), `program_cache` has programs that were compiled before;
else `start_compiler` imports `compile_program`, which builds. `open_model` opens a model or an artifact, whichever a
path is.
"""
