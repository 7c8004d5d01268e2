"""From kernel calls to what the virtual machine does: storages, destinations, shapes, devices, lifetimes."""
