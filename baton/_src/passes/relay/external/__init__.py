"""Parts of a program for external compilers."""
