"""The catalogue: every operator there is, in explicit tuples. Users' operators go into an overlay, or (TVM's registry)
are registered in the process's own catalogue.

CATALOGUE.get("nn.conv2d")     the OpDef, by its neutral name
CATALOGUE.relax("nn.conv2d")   the Op that Relax calls name (also by "relax.nn.conv2d")
CATALOGUE.relay("nn.conv2d")   the Op that Relay calls name
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from baton._src.ir.expr import Op
from baton._src.ir.op_def import Definition
from baton._src.ops.elementwise.activations import ACTIVATIONS
from baton._src.ops.elementwise.binary import BINARY
from baton._src.ops.elementwise.casts import CASTS
from baton._src.ops.elementwise.choice import CHOICES
from baton._src.ops.elementwise.unary import UNARY
from baton._src.ops.image.affine_grid import AFFINE_GRID
from baton._src.ops.image.crop_and_resize import CROPS
from baton._src.ops.image.dilation import DILATION2D
from baton._src.ops.image.dynamic_resize import DYNAMIC_RESIZES
from baton._src.ops.image.grid_sampling import GRID_SAMPLE
from baton._src.ops.image.resize import RESIZES
from baton._src.ops.image.upsampling import UPSAMPLINGS
from baton._src.ops.index.data_dependent import DATA_DEPENDENT
from baton._src.ops.index.dynamic_topk import DYNAMIC_TOPK, RELAX_DYNAMIC_TOPK
from baton._src.ops.index.gathering import GATHERS
from baton._src.ops.index.one_hot import ONE_HOTS
from baton._src.ops.index.scans import SCANS
from baton._src.ops.index.scattering import SCATTERS
from baton._src.ops.index.searching import SEARCHES
from baton._src.ops.index.sequences import SEQUENCES
from baton._src.ops.index.sorting import SORTS
from baton._src.ops.index.take import TAKES
from baton._src.ops.index.take_backward import TAKE_BACKWARD
from baton._src.ops.index.tensor_indices import TENSOR_INDICES
from baton._src.ops.index.topk import TOPK
from baton._src.ops.index.unravel_index import UNRAVEL_INDEX
from baton._src.ops.index.writing import WRITINGS
from baton._src.ops.linalg.block_quantised.dense import BLOCK_QUANTISED_DENSE
from baton._src.ops.linalg.dense import BATCH_MATMUL, DENSE, RELAY_MATMUL
from baton._src.ops.linalg.determinant import DETERMINANT
from baton._src.ops.linalg.einsum import EINSUMS
from baton._src.ops.linalg.fourier import FOURIER
from baton._src.ops.linalg.fourier_transform import FOURIER_TRANSFORM
from baton._src.ops.linalg.matmul import MATMUL
from baton._src.ops.linalg.packed_dense import CONTRIB_DENSE_PACK
from baton._src.ops.linalg.sparse import SPARSE
from baton._src.ops.linalg.sparse_coordinates import SPARSE_COORDINATES
from baton._src.ops.linalg.sparse_transpose import SPARSE_TRANSPOSE
from baton._src.ops.memory.copies import COPIES
from baton._src.ops.memory.storages import STORAGES
from baton._src.ops.nn.attention import ATTENTIONS
from baton._src.ops.nn.attention_var_len import ATTENTION_VAR_LEN
from baton._src.ops.nn.bitpack import BITPACK
from baton._src.ops.nn.convolution.bitserial import BITSERIAL
from baton._src.ops.nn.convolution.convolution import CONV1D, CONV2D, CONV2D_BLOCKED, CONV3D
from baton._src.ops.nn.convolution.deformable import DEFORMABLE_CONV2D
from baton._src.ops.nn.convolution.sparse import SPARSE_CONV2D
from baton._src.ops.nn.convolution.transpose import CONV1D_TRANSPOSE, CONV2D_TRANSPOSE, CONV3D_TRANSPOSE
from baton._src.ops.nn.convolution.weight_gradient import CONV2D_BACKWARD_WEIGHT, CONV3D_BACKWARD_WEIGHT
from baton._src.ops.nn.convolution.winograd import WINOGRAD_CONVOLUTION
from baton._src.ops.nn.correlation import CORRELATION
from baton._src.ops.nn.cross_entropy import CROSS_ENTROPIES
from baton._src.ops.nn.depth_and_space import DEPTH_AND_SPACE
from baton._src.ops.nn.dilation import DILATE
from baton._src.ops.nn.dropout import DROPOUT
from baton._src.ops.nn.dynamic_padding import DYN_PAD
from baton._src.ops.nn.fifo import FIFO_BUFFER
from baton._src.ops.nn.nll_loss import NLL_LOSSES
from baton._src.ops.nn.normalization.batch_norm import BATCH_NORM
from baton._src.ops.nn.normalization.group_norm import GROUP_NORM, INSTANCE_NORM
from baton._src.ops.nn.normalization.layer_norm import LAYER_NORM, RMS_NORM
from baton._src.ops.nn.normalization.local_norm import L2_NORMALIZE, LRN
from baton._src.ops.nn.padding import PADDINGS
from baton._src.ops.nn.per_channel import PER_CHANNEL
from baton._src.ops.nn.pooling.adaptive import ADAPTIVE_POOLING
from baton._src.ops.nn.pooling.gradient import POOLING_GRADIENTS
from baton._src.ops.nn.pooling.places import MAX_POOL_PLACES
from baton._src.ops.nn.pooling.pooling import POOLING
from baton._src.ops.nn.recurrence.gradient import RECURRENCE_GRADIENT
from baton._src.ops.nn.recurrence.recurrence import RECURRENCE
from baton._src.ops.nn.softmax import FAST_SOFTMAX, LOG_SOFTMAX, SOFTMAX
from baton._src.ops.quant.affine import AFFINE
from baton._src.ops.quant.fixed_point import FIXED_POINT_MULTIPLY
from baton._src.ops.quant.fixed_point_per_axis import FIXED_POINT_MULTIPLY_PER_AXIS
from baton._src.ops.quant.qnn_arithmetic import QNN_ARITHMETIC
from baton._src.ops.quant.qnn_functions import QNN_FUNCTIONS
from baton._src.ops.quant.qnn_products import QNN_PRODUCTS
from baton._src.ops.quant.qnn_simulated import QNN_SIMULATED
from baton._src.ops.quant.requantize import REQUANTIZE
from baton._src.ops.quant.round_to_range import ROUND_TO_RANGE
from baton._src.ops.quant.simulated import SIMULATED_QUANTIZE
from baton._src.ops.random.distributions import DISTRIBUTIONS
from baton._src.ops.random.multinomial import MULTINOMIAL_FROM_UNIFORM
from baton._src.ops.random.threefry import THREEFRY
from baton._src.ops.reduce.arg_extrema import ARG_EXTREMA
from baton._src.ops.reduce.extremes import EXTREMES
from baton._src.ops.reduce.folds import FOLDS
from baton._src.ops.reduce.log_sum_exp import LOG_SUM_EXP
from baton._src.ops.reduce.variance import VARIANCES
from baton._src.ops.shape.arange import ARANGE
from baton._src.ops.shape.axes_moved import MOVED
from baton._src.ops.shape.block_space import BLOCK_SPACE
from baton._src.ops.shape.broadcast_to import BROADCASTS
from baton._src.ops.shape.creation import CREATIONS
from baton._src.ops.shape.dynamic_axes import DYNAMIC_AXES
from baton._src.ops.shape.dynamic_slicing import DYNAMIC_SLICES
from baton._src.ops.shape.eye import EYE, EYE_LIKE
from baton._src.ops.shape.flip import FLIP
from baton._src.ops.shape.grids import GRIDS
from baton._src.ops.shape.headers import HEADERS
from baton._src.ops.shape.joining import JOINS
from baton._src.ops.shape.layout import LAYOUTS
from baton._src.ops.shape.repetition import REPETITIONS
from baton._src.ops.shape.reshape import RESHAPES
from baton._src.ops.shape.reshape_relatives import RESHAPE_RELATIVES
from baton._src.ops.shape.slice_relatives import SLICE_RELATIVES
from baton._src.ops.shape.slicing import SLICES
from baton._src.ops.shape.sliding_window import SLIDING_WINDOW
from baton._src.ops.shape.splitting import SPLITS
from baton._src.ops.shape.triangles import TRIANGLES
from baton._src.ops.vision.anchors import ANCHORS
from baton._src.ops.vision.class_suppression import ALL_CLASS_SUPPRESSION
from baton._src.ops.vision.proposal import PROPOSAL
from baton._src.ops.vision.reorganisation import YOLO_REORG
from baton._src.ops.vision.roi_align import ROI_ALIGN
from baton._src.ops.vision.roi_pool import ROI_POOL
from baton._src.ops.vision.suppression import SUPPRESSION
from baton._src.ops.vm.destination_passing import DESTINATION_PASSING
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.suggestions import did_you_mean_words

ELEMENTWISE: tuple[Definition, ...] = (*UNARY, *BINARY, *CHOICES, *PER_CHANNEL, *CASTS, *ACTIVATIONS)
REDUCE: tuple[Definition, ...] = (*FOLDS, *VARIANCES, *ARG_EXTREMA, LOG_SUM_EXP, EXTREMES)
LINALG: tuple[Definition, ...] = (
    MATMUL,
    DENSE,
    BLOCK_QUANTISED_DENSE,
    CONTRIB_DENSE_PACK,
    RELAY_MATMUL,
    BATCH_MATMUL,
    DETERMINANT,
    *SPARSE,
    SPARSE_TRANSPOSE,
    *SPARSE_COORDINATES,
    *EINSUMS,
    *FOURIER,
    FOURIER_TRANSFORM,
)
SHAPE: tuple[Definition, ...] = (
    *RESHAPES,
    *RESHAPE_RELATIVES,
    *MOVED,
    *CREATIONS,
    EYE,
    EYE_LIKE,
    ARANGE,
    *JOINS,
    *SPLITS,
    *BROADCASTS,
    *REPETITIONS,
    FLIP,
    SLIDING_WINDOW,
)
SLICING: tuple[Definition, ...] = (*SLICES, *DYNAMIC_SLICES, *SLICE_RELATIVES, *TRIANGLES, *HEADERS, *LAYOUTS, *GRIDS)
INDEX: tuple[Definition, ...] = (
    *TAKES,
    *GATHERS,
    *SCATTERS,
    *SORTS,
    TOPK,
    *SEARCHES,
    *SCANS,
    *ONE_HOTS,
    *SEQUENCES,
    *DATA_DEPENDENT,
    *TENSOR_INDICES,
    UNRAVEL_INDEX,
    TAKE_BACKWARD,
)
SAMPLING: tuple[Definition, ...] = (
    AFFINE_GRID,
    GRID_SAMPLE,
    *CROPS,
    *THREEFRY,
    *DISTRIBUTIONS,
    *WRITINGS,
    *BLOCK_SPACE,
    *DYNAMIC_AXES,
    DYNAMIC_TOPK,
    RELAX_DYNAMIC_TOPK,
)
QUANTISED: tuple[Definition, ...] = (
    REQUANTIZE,
    *QNN_ARITHMETIC,
    *QNN_PRODUCTS,
    *QNN_FUNCTIONS,
    *QNN_SIMULATED,
    SIMULATED_QUANTIZE,
    ROUND_TO_RANGE,
    FIXED_POINT_MULTIPLY,
    FIXED_POINT_MULTIPLY_PER_AXIS,
)
NN: tuple[Definition, ...] = (
    SOFTMAX,
    LOG_SOFTMAX,
    FAST_SOFTMAX,
    BATCH_NORM,
    CONV1D,
    CONV2D,
    CONV2D_BLOCKED,
    CONV3D,
    CONV1D_TRANSPOSE,
    CONV2D_TRANSPOSE,
    CONV3D_TRANSPOSE,
    *POOLING,
    *POOLING_GRADIENTS,
    *ADAPTIVE_POOLING,
    MAX_POOL_PLACES,
    LAYER_NORM,
    GROUP_NORM,
    INSTANCE_NORM,
    RMS_NORM,
    L2_NORMALIZE,
    LRN,
    *PADDINGS,
    DILATE,
    DYN_PAD,
    *ATTENTIONS,
    ATTENTION_VAR_LEN,
    DROPOUT,
    *DEPTH_AND_SPACE,
    *CROSS_ENTROPIES,
    *NLL_LOSSES,
    RECURRENCE,
    RECURRENCE_GRADIENT,
    DEFORMABLE_CONV2D,
    CORRELATION,
    CONV2D_BACKWARD_WEIGHT,
    CONV3D_BACKWARD_WEIGHT,
    *WINOGRAD_CONVOLUTION,
    BITPACK,
    *BITSERIAL,
    SPARSE_CONV2D,
    FIFO_BUFFER,
)
IMAGE: tuple[Definition, ...] = (*RESIZES, *UPSAMPLINGS, *DYNAMIC_RESIZES, DILATION2D)
VISION: tuple[Definition, ...] = (
    *ANCHORS,
    ROI_ALIGN,
    ROI_POOL,
    *SUPPRESSION,
    ALL_CLASS_SUPPRESSION,
    PROPOSAL,
    YOLO_REORG,
)
OTHERS: tuple[Definition, ...] = (*AFFINE, *COPIES, MULTINOMIAL_FROM_UNIFORM, *STORAGES, *DESTINATION_PASSING)


class Catalogue:
    """Operators by name. Iteration yields the `OpDef`s in the order of their tables."""

    __slots__ = ("_definitions", "_registered", "_relax", "_relay")

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._definitions: dict[str, Definition] = {}
        self._relay: dict[str, Op] = {}
        self._relax: dict[str, Op] = {}
        self._registered: set[str] = set()
        for definition in definitions:
            self._add(definition)

    def _add(self, definition: Definition) -> None:
        self._definitions[definition.name] = definition
        self._relax[definition.relax_op.name] = definition.relax_op
        if definition.relay_op is not None:
            self._relay[definition.relay_op.name] = definition.relay_op

    def get(self, name: str) -> Definition:
        """The operator with this neutral name; `DiagnosticError` (`op-unknown`) if it does not exist."""
        found = self._definitions.get(name)
        if found is None:
            raise unknown_op(name, self._definitions)
        return found

    def relay(self, name: str) -> Op:
        """The operator as Relay calls it."""
        found = self._relay.get(name)
        if found is None:
            raise unknown_op(name, self._relay, "Relay ")
        return found

    def relax(self, name: str) -> Op:
        """The operator as Relax calls it, with or without the prefix `relax.`."""
        found = self._relax.get(name) or self._relax.get(f"relax.{name}")
        if found is None:
            raise unknown_op(name, self._relax, "Relax ")
        return found

    def relay_names(self) -> tuple[str, ...]:
        """The names of all of Relay's operators."""
        return tuple(self._relay)

    def relax_names(self) -> tuple[str, ...]:
        """The names of all of Relax's operators, prefix included."""
        return tuple(self._relax)

    def register(self, definition: Definition) -> None:
        """Add a user's operator, or a new definition of one; `DiagnosticError` (`op-registered`) for a built-in one."""
        known = self._definitions.get(definition.name)
        if known is not None and definition.name not in self._registered:
            message = f"{definition.name} is an operator of its own already"
            raise fail("op-registered", message, help="choose another name")
        self._registered.add(definition.name)
        self._add(definition)

    def is_registered(self, name: str) -> bool:
        """Whether a user registered the operator of this name."""
        return name in self._registered

    def with_op(self, definition: Definition) -> Catalogue:
        """This catalogue with one operator more (or replaced); this one stays as it is."""
        return Catalogue((*(d for d in self if d.name != definition.name), definition))

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._definitions.values())

    def __len__(self) -> int:
        return len(self._definitions)

    def __contains__(self, name: object) -> bool:
        return name in self._definitions or name in self._relay or name in self._relax


def unknown_op(name: str, known: Iterable[str], language: str = "") -> DiagnosticError:
    """The error for a name that no operator has, with the nearest ones that exist."""
    wanted = did_you_mean_words(name, known, "define it with an OpDef and `CATALOGUE.with_op`")
    return fail("op-unknown", f"there is no {language}operator named {name!r}", help=wanted)


CATALOGUE = Catalogue(
    (*ELEMENTWISE, *REDUCE, *LINALG, *SHAPE, *NN, *IMAGE, *VISION, *OTHERS, *SLICING, *INDEX, *SAMPLING, *QUANTISED)
)
