"""A wrist sensor's bias and what hangs on it, found from poses: from samples to numbers with their errors. No ROS."""
