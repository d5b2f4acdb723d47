"""Comparison of a backend with independent derivations of the same numbers, and with physical laws."""
