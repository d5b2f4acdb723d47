"""A robot as data: its parts, reading and writing its file, reading and writing URDF."""
