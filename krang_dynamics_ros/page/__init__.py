"""The page in the browser, by viser: it draws what it is given and says what was touched. It knows nothing of ROS."""
