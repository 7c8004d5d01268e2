"""Lowering kernel calls to operations of the virtual machine: storages, destinations, shapes, devices, lifetimes."""
