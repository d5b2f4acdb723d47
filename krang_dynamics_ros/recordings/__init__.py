"""Recordings of joints: reading them, what of them counts, and their derivatives. No ROS in here."""
