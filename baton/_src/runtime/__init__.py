"""What an executable needs to run, free of IR: the format, the machine, native functions, builtins, profiler, graph face."""
