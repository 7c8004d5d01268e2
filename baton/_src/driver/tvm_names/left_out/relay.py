"""The names left out of `relay`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.driver.tvm_names.left_out.reasons import BYOC, GPU, IMPORTER, PLANNED, TEST_EQUIPMENT, TUNING

_NO_LIBRARY = (
    "no such library comes with baton, which generates its own code; patterns and "
    "code generators of your own are relay.op.contrib.register_pattern_table and relay.ext.<name>"
)

RELAY_NAMES: Mapping[str, Mapping[str, str]] = {
    'what is built for the executor "aot" is a GraphExecutorFactoryModule too': {
        "relay.backend.executor_factory": "AOTExecutorFactoryModule",
        "relay.backend": "aot",
    },
    "no program is too deep for baton's passes: Python's stack is not used for them": {
        "relay": "setrecursionlimit",
    },
    "it is one of TVM's kernels for ARM CPUs; baton chooses its own: call conv2d": {
        "relay.nn": "contrib_conv2d_gemm_weight_transform contrib_conv2d_gemm_without_weight_transform",
    },
    BYOC: {
        "relay.nn": "contrib_conv2d_winograd_nnpack_weight_transform",
        "relay.backend": "contrib",
        "relay": "collage",
        "relay.transform": "CollagePartition RelayToTIRTargetHook",
        "relay.analysis": "operations_distribution",
    },
    "conv3d has no Winograd kernels here: call conv3d": {
        "relay.nn": "contrib_conv3d_winograd_weight_transform contrib_conv3d_winograd_without_weight_transform",
    },
    f"{IMPORTER}; tf2onnx writes ONNX models of TensorFlow's and Keras's": {
        "relay.frontend": (
            "tensorflow tensorflow2 tensorflow_parser tensorflow_ops tensorflow2_ops keras tflite_flexbuffer "
            "from_tensorflow from_keras"
        ),
    },
    f"{IMPORTER}; mxnet.onnx.export_model writes ONNX models of MXNet's": {
        "relay.frontend": "mxnet mxnet_qnn_op_utils nnvm_common from_mxnet",
    },
    f"{IMPORTER}; onnxmltools.convert_coreml writes ONNX models of Core ML's": {
        "relay.frontend": "coreml from_coreml",
    },
    f"{IMPORTER}; paddle2onnx writes ONNX models of PaddlePaddle's": {"relay.frontend": "paddlepaddle from_paddle"},
    f"{IMPORTER}; oneflow_onnx writes ONNX models of OneFlow's": {"relay.frontend": "oneflow from_oneflow"},
    f"{IMPORTER}; write an ONNX model in the framework of yours, or the network in PyTorch": {
        "relay.frontend": "caffe caffe2 darknet from_caffe from_caffe2 from_darknet",
    },
    f"{IMPORTER}; from_pytorch takes quantised programs as well": {"relay.frontend": "qnn_torch pytorch_utils"},
    "storages have no scopes on CPUs": {"relay.transform": "AnnotateMemoryScope"},
    TUNING: {
        "relay.transform": "MetaScheduleLayoutRewrite AutoSchedulerLayoutRewrite",
        "relay.op.strategy": "x86",
        "relay.qnn": "strategy",
    },
    "weights become sparse by blocks: bsr_dense, bsr_conv2d": {
        "relay.data_dep_optimization": "csr_conv2d",
    },
    "programs with `?` or named dims compile once for all sizes": {
        "relay.transform": "FlexibleShapeDispatch flexible_shape",
    },
    "Relay is lowered through Relax: relax.from_relay gives the program": {
        "relay.backend.te_compiler": (
            "CCacheKey CCacheValue LoweredOutput get_valid_implementations select_implementation lower_call "
            "lower_to_primfunc get_shape"
        ),
    },
    "nodes have with_fields, and Python's keyword arguments": {"relay.expr": "RelayExprWithFields"},
    _NO_LIBRARY: {
        "relay.op.contrib": (
            "adreno arm_compute_lib bnns clml cmsisnn coreml cublas cudnn cutlass dnnl ethosn ethosu libtorch mrvl "
            "te_target tensorrt vitis_ai"
        ),
    },
    "not implemented: memory is planned in Relax, for whole programs": {
        "relay.transform": "AnnotateUsedMemory",
    },
    "layouts are told by rules: relay.op.register_convert_op_layout": {"relay.transform": "infer_layout_utils"},
    PLANNED: {"relay.transform": "memory_plan"},
    "rules of your own are relay.op.register_convert_op_layout": {"relay.op": "layout_conversions"},
    GPU: {"relay.op.strategy": "cuda"},
    "strategies choose among kernels of a script's own: wrap_topi_compute takes any function of tensors": {
        "relay.op.strategy.generic": (
            "wrap_compute_conv2d wrap_compute_conv1d wrap_compute_conv3d wrap_compute_dense wrap_compute_batch_matmul "
            "wrap_compute_softmax wrap_compute_group_conv2d wrap_compute_conv2d_transpose get_conv2d_in_channels "
            "get_conv2d_out_channels is_depthwise_conv2d"
        ),
    },
    "types are computed by rules of the operators' own, not by relations": {"relay.op": "type_relations"},
    "qnn operators are lowered by relay.qnn.transform; rules of your own are relay.op.register_legalize": {
        "relay.qnn.op": "legalizations canonicalizations layout_conversions",
    },
    "weights are packed by the compiler: call dense": {"relay.qnn.op": "contrib_dense_pack"},
    "relay.quantize has quantize, qconfig and the passes; what lies between them is baton's own": {
        "relay.quantize": (
            "_quantize _annotate _calibrate _partition kl_divergence register_annotate_function "
            "register_partition_function annotate_context quantize_context"
        ),
    },
    "relay.transform.recast and ToMixedPrecision change dtypes": {"relay.frontend": "change_datatype ChangeDatatype"},
    "write the cell with relay.nn.dense, relay.split and relay.sigmoid": {
        "relay.frontend.common": "rnn_cell gru_cell lstm_cell",
    },
    TEST_EQUIPMENT: {"relay.testing": "tf byoc darknet tflite yolo_detection config"},
}
"""Why: below what, which names."""
