"""The parts of `simulator_node`."""
