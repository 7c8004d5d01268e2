"""`tvm.dlight`: default schedules by `rules`, and the `blocks` of kernels that rules of scripts look at."""
