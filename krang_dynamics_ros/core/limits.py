"""How large a number of a robot may be."""

LARGEST = 1e6  # in its SI unit, of any position, rate, torque, force, mass: what is beyond is a fault, not a robot's
