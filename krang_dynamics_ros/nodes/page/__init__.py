"""The parts of `viewer_node`: inputs of the page, and its requests to other nodes."""
