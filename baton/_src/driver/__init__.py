"""The only place that sees everything: build, compile, executors, and what binds the layers together."""
