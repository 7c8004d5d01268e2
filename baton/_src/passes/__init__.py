"""Passes, one a file: `relay/`, `relax/`, `tir/`; `shared/` is what languages share, `pipelines` the page to read."""
