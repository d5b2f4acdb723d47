"""Algebra, bodies, wrenches, parameters, files and errors that all other folders use."""
