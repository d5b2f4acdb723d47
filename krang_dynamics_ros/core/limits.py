"""How large a number of a robot may be, and how much a message may hold."""

LARGEST = 1e6  # in its SI unit, of any position, rate, torque, force, mass: what is beyond is a fault, not a robot's

MAX_NAMES = 2000  # of a message: ten times the joints of the largest robots, and read in a millisecond
MAX_NAME_CHARS = 256  # of a joint, a link or a frame; ROS itself allows no longer names of topics
MAX_NAMED_BYTES = 1_000_000  # of a serialized message with names: those of 2000 joints with all their numbers
MAX_BYTES = 10_000  # of any other serialized message: a few numbers and a frame
MAX_CACHE_BYTES = 1_000_000  # that a cache of name lists may take; a robot's list takes a few thousand

MAX_PRESLIDING = 50  # elements of a joint's presliding friction; a fit uses two or three
