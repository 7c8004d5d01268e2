"""Relax as text: TVMScript in the style of v0.19. Reading is in `script/`."""
