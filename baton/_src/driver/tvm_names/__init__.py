"""What TVM's names need beyond a re-export: operators, devices, functions, texts, test helpers."""
