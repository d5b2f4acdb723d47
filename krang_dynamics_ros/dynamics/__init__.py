"""Numbers by Pinocchio or compiled C: torque terms, task space, momentum observer, feed-forward."""
