"""What an executable needs to run, free of IR: format, machine, native functions, builtins, profiler."""
