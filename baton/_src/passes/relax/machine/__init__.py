"""From kernel calls to the operations of the virtual machine: storages, destinations, shapes, devices, lifetimes."""
