"""Converters of what neural networks are made of: convolutions, pools, normalisations, recurrences, quantised forms."""
