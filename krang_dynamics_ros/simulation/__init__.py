"""A robot that is not there: how it moves, and what its motors and sensors do. No ROS."""
