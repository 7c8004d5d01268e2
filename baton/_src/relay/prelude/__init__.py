"""The Prelude as Relay text (`*.rly`) and its loader, `load`."""
