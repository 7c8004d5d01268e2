"""What each step of a schedule does to the program, one or a few primitives in a file."""
