"""Functions as values: closures, polymorphism and functions as data taken out of a program, continuations passed."""
