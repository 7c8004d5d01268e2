"""Building blocks of schedule rules: a kernel as `stages`, builders of `loops`, vector reductions, prefetching."""
