"""The data of a compiled module (`executable`): functions (`function_entry`), `bytecode`, `constants`,
`late_constants`.

`archive` is its file format, `verify` the check of what was read, `text` for people, `exec_builder` builds one by hand;
`export` and `kernel_library` serve `export_library` and importers of modules.
"""
