"""Code shared by passes of several languages: grouping operators for fusion, evaluating constants, inlining kernel
stages.
"""
