"""`tvm.testing`: `assertions` and `compare_before_after` for tests, and tests as pytest sees them: `pytest_plugin`,
`pytest_marks`, `pytest_features` of the machine.
"""
