"""`compile`: reading models in all accepted forms, the cache of compiled programs, and compiling."""
