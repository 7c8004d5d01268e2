"""`tvm.rpc`: sessions on other machines, whose devices, files, libraries and functions a script uses as its own.

`wire` puts messages on sockets; `peer` calls the other side's objects and answers its calls; `stubs` are what stands
for them here; `server`, `session` and `tracker` are what scripts begin with.
"""
