"""Neural-network operators: families of several files in folders of their own, the others one a file."""
