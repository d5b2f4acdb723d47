"""The parts of `viewer_node`: what the page is told, and what it asks the other nodes for."""
