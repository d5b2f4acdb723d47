"""From messages to torques, without ROS: what a node does with its topics, and others may do with a file."""
