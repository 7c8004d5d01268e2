"""Functions that build expressions and statements under TVM's names."""
