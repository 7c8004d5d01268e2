"""From a Relax module to an executable, and compiling operators while it runs."""
