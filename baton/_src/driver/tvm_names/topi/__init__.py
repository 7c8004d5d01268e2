"""`tvm.topi`: operators' computations as functions of `te` tensors.

`apply` makes such a function of any operator; `names` lists them, called by TVM's `parameter_names`. Files for what
topi spells in its own way:

- `elements`, `matched_operands`, `tensors`, `dynamic_slices`, `slice_places`, `images`, `sparse`
- `topi.nn`: `layers`, `convolutions`, `transposed_convolutions`, `winograd_convolutions`, `depthwise_gradients`,
  `pooling`, `lstm`, `binary_layers`, `sparse_layers`, `simulated_quantization`
- `topi.utils` and `topi.tag`: `shapes`, `layout_shapes`, `pads`, `tags`, `tagging`; `topi.generic`: `schedules`
- `topi.testing`, references over NumPy: `testing`, `testing_layers`, `testing_convolutions`, `testing_places`
"""
