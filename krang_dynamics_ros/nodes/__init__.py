"""The ROS 2 nodes: the only files that import rclpy. A node parses, calls the library, publishes."""
