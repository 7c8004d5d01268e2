"""What TVM's names need beyond a re-export: operator namespaces, devices, the function registry, texts, modules, test helpers."""
