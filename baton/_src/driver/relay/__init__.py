"""TVM's ways to build and run Relay, all over the executable that `driver/relax` builds."""
