"""The numbers, by Pinocchio or by compiled C: torques by term, task space, simulation."""
