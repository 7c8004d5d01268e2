"""Random Relax programs: `strategies` draws whole ones for hypothesis, `any_tensors` straight lines from a seed."""
