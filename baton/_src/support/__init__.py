"""What every layer may use and what knows no IR: source spans, diagnostics, documents for printing, options, progress."""
