"""Post-training quantisation (`relay.quantize`): annotate, calibrate, realize."""
