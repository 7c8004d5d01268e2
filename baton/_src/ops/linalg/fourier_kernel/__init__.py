"""The kernel of `fourier`: transforms of rows whose length has small factors only."""
