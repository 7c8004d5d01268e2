"""The threads of parallel loops: the pool as Python sees it (`threads`), and the LLVM IR that it runs."""
