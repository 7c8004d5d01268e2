"""The classes of operators' attributes under TVM's names (`relay.op.op_attrs`), for `isinstance(call.attrs, ...)`.

A class is found by an operator that has it. Where TVM has two classes and baton one (max and average pooling), both
names mean that one.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.attrs import NoAttrs
from baton._src.ir.expr import Op
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax.special.calls import CallTIRInplaceAttrs, CallTIRWithGradAttrs
from baton._src.relax.special.devices import HintOnDeviceAttrs, ToVDeviceAttrs

_BY_OPERATOR: dict[str, str] = {
    "nn.": "BiasAdd:bias_add BatchMatmul:batch_matmul BatchNorm:batch_norm BitPack:bitpack Conv1D:conv1d Conv2D:conv2d "
    "Conv3D:conv3d Conv1DTranspose:conv1d_transpose Conv2DTranspose:conv2d_transpose Conv3DTranspose:conv3d_transpose "
    "Conv2DWinograd:contrib_conv2d_winograd_without_weight_transform Correlation:correlation Dense:dense "
    "ConvWinogradWeightTransform:contrib_conv2d_winograd_weight_transform DeformableConv2D:deformable_conv2d "
    "DensePack:contrib_dense_pack Dilate:dilate Dropout:dropout FIFOBuffer:fifo_buffer GlobalPool2D:global_max_pool2d "
    "GroupNorm:group_norm InstanceNorm:instance_norm L2Normalize:l2_normalize LayerNorm:layer_norm LRN:lrn "
    "LeakyRelu:leaky_relu Matmul:matmul MirrorPad:mirror_pad NLLLoss:nll_loss Pad:pad PReLU:prelu Softmax:softmax "
    "MaxPool1D:max_pool1d MaxPool2D:max_pool2d MaxPool3D:max_pool3d AvgPool1D:avg_pool1d AvgPool2D:avg_pool2d "
    "AvgPool3D:avg_pool3d AdaptivePool1D:adaptive_max_pool1d AdaptivePool2D:adaptive_max_pool2d "
    "AdaptivePool3D:adaptive_max_pool3d UpSampling:upsampling UpSampling3D:upsampling3d BinaryConv2D:bitserial_conv2d "
    "BinaryDense:bitserial_dense SparseDense:sparse_dense SparseConv2D:sparse_conv2d SubPixel:depth_to_space "
    "BatchToSpaceND:batch_to_space_nd SpaceToBatchND:space_to_batch_nd",
    "": "Arange:arange ArgReduce:argmax Argsort:argsort Cast:cast Clip:clip Concatenate:concatenate DFT:dft "
    "Debug:debug DeviceCopy:device_copy Einsum:einsum ExpandDims:expand_dims FixedPointMultiply:fixed_point_multiply "
    "FixedPointMultiplyPerAxis:fixed_point_multiply_per_axis Gather:gather GatherND:gather_nd InitOp:zeros "
    "LayoutTransform:layout_transform MatrixSetDiag:matrix_set_diag Meshgrid:meshgrid OnDevice:on_device "
    "OneHot:one_hot Reduce:sum Repeat:repeat Reshape:reshape ReshapeLike:reshape_like Reverse:reverse "
    "ReverseSequence:reverse_sequence Scanop:cumsum ScatterElements:scatter_elements ScatterND:scatter_nd "
    "SearchSorted:searchsorted SequenceMask:sequence_mask ShapeOf:shape_of SliceLike:slice_like "
    "SlidingWindow:sliding_window SparseToDense:sparse_to_dense Split:split Squeeze:squeeze Stack:stack Stft:stft "
    "StridedSlice:strided_slice Take:take Tile:tile TopK:topk Transpose:transpose Trilu:trilu Unique:unique "
    "Variance:variance",
    "image.": "AffineGrid:affine_grid CropAndResize:crop_and_resize Dilation2D:dilation2d GridSample:grid_sample "
    "Resize1D:resize1d Resize2D:resize2d Resize3D:resize3d",
    "vision.": "AllClassNonMaximumSuppression:all_class_non_max_suppression GetValidCounts:get_valid_counts "
    "MultiBoxPrior:multibox_prior MultiBoxTransformLoc:multibox_transform_loc "
    "NonMaximumSuppression:non_max_suppression Proposal:proposal ROIAlign:roi_align ROIPool:roi_pool "
    "YoloReorg:yolo_reorg",
    "memory.": "AllocStorage:alloc_storage AllocTensor:alloc_tensor",
    "qnn.": "Dequantize:dequantize Quantize:quantize Requantize:requantize SimulatedQuantize:simulated_quantize",
    "random.": "Multinomial:multinomial Normal:normal ThreefryGenerate:threefry_generate Uniform:uniform",
    "annotation.": "Compiler:compiler_begin",
}


_RELAX: dict[str, str] = {
    "nn.": "Conv1D:conv1d Conv2D:conv2d Conv3D:conv3d Conv1DTranspose:conv1d_transpose "
    "Conv2DTranspose:conv2d_transpose Pool1D:max_pool1d Pool2D:max_pool2d Pool3D:max_pool3d "
    "AdaptivePool1D:adaptive_avg_pool1d AdaptivePool2D:adaptive_avg_pool2d AdaptivePool3D:adaptive_avg_pool3d "
    "Softmax:softmax LeakyRelu:leakyrelu BatchNorm:batch_norm LayerNorm:layer_norm GroupNorm:group_norm "
    "InstanceNorm:instance_norm RMSNorm:rms_norm Dropout:dropout NLLLoss:nll_loss Pad:pad Attention:attention",
    "": "Init:zeros Trilu:tril Astype:astype Take:take StridedSlice:strided_slice Matmul:matmul Statistical:sum "
    "Concat:concat ExpandDims:expand_dims PermuteDims:permute_dims Sort:sort Argsort:argsort Split:split "
    "Squeeze:squeeze LayoutTransform:layout_transform ArgmaxArgmin:argmax Repeat:repeat Tile:tile Scanop:cumsum "
    "TopK:topk Einsum:einsum Flip:flip MultinomialFromUniform:multinomial_from_uniform Quantize:quantize "
    "ScatterElements:scatter_elements ScatterND:scatter_nd OneHot:one_hot GatherElements:gather_elements "
    "GatherND:gather_nd Meshgrid:meshgrid SliceScatter:slice_scatter",
    "image.": "Resize2D:resize2d",
}
"""Relax's names for what its operators have."""


_SPECIAL = (CallTIRWithGradAttrs, CallTIRInplaceAttrs, HintOnDeviceAttrs, ToVDeviceAttrs)


def relax_attribute_classes() -> dict[str, Any]:
    """TVM's name of every class of attributes of Relax's operators, with the class."""
    found: dict[str, Any] = {c.__name__: c for c in _SPECIAL}
    for prefix, listed in _RELAX.items():
        for entry in listed.split():
            name, _, operator = entry.partition(":")
            found[f"{name}Attrs"] = CATALOGUE.relax(prefix + operator).definition.attrs
    return found


def attribute_classes() -> dict[str, Any]:
    """TVM's name of every class of attributes, with the class."""
    found: dict[str, Any] = {}
    for prefix, listed in _BY_OPERATOR.items():
        for entry in listed.split():
            name, _, operator = entry.partition(":")
            definition = CATALOGUE.relay(prefix + operator).definition
            found[f"{name}Attrs"] = definition.attrs if definition is not None else None
    return found


def attributes_key(op: Op) -> str:
    """TVM's key of the class of an operator's attributes: its name here where TVM's has no entry above."""
    made = getattr(op.definition, "attrs", None)
    if made is None or made is NoAttrs:
        return ""
    language = "relax" if op.name.startswith("relax.") else "relay"
    known = relax_attribute_classes() if language == "relax" else attribute_classes()
    return f"{language}.attrs.{next((name for name, found in known.items() if found is made), made.__name__)}"
