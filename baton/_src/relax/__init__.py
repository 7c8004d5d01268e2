"""Relax: nodes, struct info, check/, special/ operators, normal form, block builder, text/, interpreter."""
