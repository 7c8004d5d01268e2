"""The compiled model that users work with (`model`), and loading one (`load`). Imports nothing of the compiler.

`tensor_spec` describes inputs and outputs, `given_array` takes what callers give for one, `border` is the interface of
models of strings and containers, `memory_report` the memory plan as text.
"""
