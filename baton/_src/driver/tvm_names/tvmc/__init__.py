"""`tvm.driver.tvmc`: load a model, compile it to a package, run the package, from Python or from the command line.

`frontends` read models; `model`, `package` and `result` are what a user holds; `compiler`, `runner` and `tuner` (task
by task: `tuning_tasks`) lead from one to the next; `commands` is the same for shells. What options say: `targets`,
`shape_parser`, `pass_options`, `transform`, `records`, `inputs`, `dumps`; `errors` are of one class.
"""
