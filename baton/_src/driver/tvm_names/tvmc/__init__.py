"""`tvm.driver.tvmc`: load a model, compile it to a package, run the package, from Python or from the command line.

`frontends` read models; `model`, `package` and `result` are what a user holds; `compiler`, `runner` and `tuner` lead
from one to the next; `commands` is the same for shells.
"""
