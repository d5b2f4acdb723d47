"""From messages to torques and commands, without ROS."""
