"""Benchmarks of compile time and run time, against the peers; each is also an entry point for a profiler."""
