"""TVM's ways to build and run Relay, all of them over the executable that `driver/relax` builds."""
