"""The data of a compiled module: functions, bytecode, constants; its file format, text, verifier and builder."""
