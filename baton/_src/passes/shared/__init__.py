"""What passes of several languages use: grouping operators for fusion, evaluating constants, inlining kernel stages."""
