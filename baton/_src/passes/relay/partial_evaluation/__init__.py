"""PartialEvaluate: what is known before a program runs is computed then, and what is left is the program."""
