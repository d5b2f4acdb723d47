"""The parts of `dynamics_node`."""
