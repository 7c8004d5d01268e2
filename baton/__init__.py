"""baton: Relay and Relax, compiled to native code by LLVM, from `pip install` alone."""
