"""The parts of `tvm.target` that are more than a re-export: `targets` (and `boards`) by their names,
`generic_functions` that differ between targets, `llvm_facts` about the machine and its CPU.
"""
