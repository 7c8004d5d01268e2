"""What a compiled module is, as data: functions, bytecode, constants; its file, text, verifier and builder."""
