"""`compile`: reading what a user calls a model, the cache of programs compiled before, and compiling."""
