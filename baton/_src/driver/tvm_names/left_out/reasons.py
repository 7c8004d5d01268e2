"""Reasons for leaving out parts of TVM that several of its packages share."""

from __future__ import annotations

REGISTERED = "packed functions are registered with register_func"
PLANNED = "memory is planned in Relax, for whole programs"
GPU = "baton compiles for CPUs"
BYOC = "baton generates all code itself; it hands no part of a program to other libraries"
IMPORTER = (
    "baton imports ONNX models (from_onnx), PyTorch programs (from_exported_program, from_pytorch) and TensorFlow Lite"
    " models (from_tflite)"
)
ONE_PROCESS = "baton runs programs in one process, on one CPU; there are no meshes of devices"
TUNING = "baton's schedules need no tuning: build for a target, and a rule for it is chosen"
TEST_EQUIPMENT = "it is TVM's own test equipment"
