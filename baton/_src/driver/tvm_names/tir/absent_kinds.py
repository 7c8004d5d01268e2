"""Kinds of nodes that TVM has between computations and kernels and no program here: `isinstance` of them is False, as
in visitors of scripts, which ask about every class there is."""

from __future__ import annotations

from baton._src.driver.tvm_names.objects import Like
from baton._src.te.tensor import Tensor


class BufferRealize(metaclass=Like):
    """A buffer's place among statements; here `Block.alloc_buffers` and `DeclBuffer`."""


class ProducerRealize(metaclass=Like):
    """A tensor's place among statements; blocks allocate buffers instead."""


class ProducerStore(metaclass=Like):
    """A store to a tensor; blocks store to buffers."""


class Prefetch(metaclass=Like):
    """Elements to load early; schedules take `prefetch` and leave this to the CPU."""


class DataProducer(metaclass=Like):
    """What has elements before it has a buffer: tensors of te."""

    kinds = (Tensor,)


class HybridOp(metaclass=Like):
    """The operation of a hybrid script; here an `ExternOp`, whose statement is what was written."""


class TensorComputeOp(metaclass=Like):
    """The operation of a call of an intrinsic; here an `ExternOp`."""
