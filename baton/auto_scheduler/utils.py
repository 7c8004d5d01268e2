"""Small words of scripts (`tvm.auto_scheduler.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.auto_scheduler.words", "decode_workload_key get_func_name list_to_tuple"),
        **names("driver.tvm_names.tuning.auto_scheduler.words", "array_mean to_str_round make_traceback_info"),
        **names("driver.tvm_names.tuning.auto_scheduler.words", "MAX_TRACEBACK_INFO_LEN"),
        **names("driver.tvm_names.remote.session", "request_remote check_remote"),
        **names("driver.tvm_names.topi.shapes", "get_const_int get_const_tuple"),
        **renamed("driver.tvm_names.tuning.serialized", serialize_args="serialized", deserialize_args="deserialized"),
    },
    before=wire,
)
