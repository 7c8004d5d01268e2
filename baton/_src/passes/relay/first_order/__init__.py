"""Make programs first-order: lambda lifting, monomorphisation, defunctionalisation; continuation-passing style."""
