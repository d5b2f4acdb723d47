"""Recordings of a robot: read from bags, tables and folders, and differentiated without delay."""
