"""Who must agree with whom, and the laws that hold."""
