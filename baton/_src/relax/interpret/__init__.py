"""Parts of the reference interpreter: the `environment` of a running function (and `mentioned_variables` of a closure),
`named_functions`, `tail_calls`, structural `checks`, `operators` and `special` ones.
"""
