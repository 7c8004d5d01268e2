"""The command line: `main` collects the verbs, one file each (`run`, `compile_`, `bench` with `benchmark/`, `tune`,
`inspect_`, `replay`, `doctor`); `console` is their terminal output, `feeds`, `arrays` and `outputs` what they read and
write.
"""
