"""Random Relax programs: interpreter, bytecode and compiled code agree, before and after passes."""
