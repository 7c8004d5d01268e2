"""The implementation. Data flows: text -> IR -> checked IR -> optimised IR -> kernels + plan -> executable -> values.

Imports flow in another order, bottom to top (the import contract in `pyproject.toml` enforces it)::

    support < values < runtime < ir < transform < tir < te < relay | relax < script < ops < analysis
            < passes < lower | codegen < frontends < driver < tools < the public face
"""
