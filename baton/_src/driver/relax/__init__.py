"""Build executables from Relax modules (`build`): parameters bound (`params`), the passes chosen (`optimize`),
signatures recorded (`signatures`). `operator_compiler` compiles at run time what had no known rank or dtype before.
"""
