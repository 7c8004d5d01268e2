"""What schedule rules are written with: a kernel as `stages`, builders of `loops`, vector reductions, prefetching."""
