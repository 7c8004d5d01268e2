"""Passes and how they are run.

`passes` (Pass, FunctionPass, Sequential), `context` (PassInfo, PassContext), `instruments`, `decorators` (for users),
`options` (those of a pass), `settings` (what PassContext.config may hold), `reproducer` (what a broken pass leaves
behind), `collector`.
"""
