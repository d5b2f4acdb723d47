"""Calibration of wrist sensors (bias, tool, payload) from poses, and checks of the first run on an arm. No ROS."""
