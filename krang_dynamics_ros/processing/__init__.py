"""Recordings put through the node's own pipeline: every torque term, and what only they can have."""
