"""What the world does to the robot: wrenches at the hands and contact, from the external torques of the joints."""
