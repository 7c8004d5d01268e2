"""What every layer may use and what knows no IR: spans, diagnostics, options, progress."""
