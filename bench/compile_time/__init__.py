"""How long compiling takes, by stage and size."""
