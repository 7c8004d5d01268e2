"""Towards first-order programs: lambda lifting, monomorphisation, defunctionalisation; continuation-passing style."""
