"""Recordings put through the node's own engine: every torque term, and what only they can have."""
