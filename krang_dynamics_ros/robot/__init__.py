"""Robots as data: links, joints and drives; reading and writing robot files and URDF."""
