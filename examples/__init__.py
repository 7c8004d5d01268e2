"""Small programs that use `baton` the way its users do."""
