"""What may leave: commands that go out only while they are enabled, blended and within limits. No ROS."""
