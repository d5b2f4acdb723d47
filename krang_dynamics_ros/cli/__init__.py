"""The commands: `python -m krang_dynamics_ros <command>`, or `ros2 run krang_dynamics_ros <command>`."""
