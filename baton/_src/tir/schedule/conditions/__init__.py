"""When a step of a schedule is right: dependences, coverage, ranges."""
