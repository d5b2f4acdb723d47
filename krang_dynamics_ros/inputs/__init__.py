"""What messages mean and when they count, without ROS: joints, wrist sensors, the IMU."""
