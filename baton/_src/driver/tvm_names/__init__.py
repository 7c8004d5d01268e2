"""Implementations behind TVM's names where a re-export does not suffice: operators, devices, functions, texts, test
helpers.
"""
