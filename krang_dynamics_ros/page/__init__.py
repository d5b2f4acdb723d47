"""The page in the browser, with viser and without ROS: draws data, and collects the requests of visitors."""
