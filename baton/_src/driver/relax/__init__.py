"""Build executables from Relax modules, and compile operators at run time."""
