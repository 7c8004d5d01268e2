"""The compiled model that users work with, and loading one. Imports nothing of the compiler."""
