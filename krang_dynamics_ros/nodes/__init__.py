"""The ROS 2 nodes: the only files that import rclpy. A node parses, calls the library, publishes."""

from ..core.process_start import end_on_signals, runs_module_of

if runs_module_of(__name__):  # before all that such a module imports
    end_on_signals()
