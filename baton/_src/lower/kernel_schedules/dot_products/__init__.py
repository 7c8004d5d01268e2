"""Matrix products and convolutions of int8 and bfloat16, by the CPU's dot-product instructions."""
