"""The tests mirror `baton/_src`; beside them conformance, golden texts, properties, models, the face and the docs."""
