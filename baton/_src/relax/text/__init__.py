"""Relax as text: TVMScript in the style of v0.19. Reading is in `script/`.

`printer` writes modules, `declarations` and `statements` functions, `calls` and `leaves` expressions, `infos`
annotations, `scalars` dims, `values` attributes, `metadata` what is too large for a line; `names` are given to
variables.
"""
