"""A robot let go: the textbook's arm of two links swings, and keeps its energy.

.venv/bin/python examples/swing.py
"""

import numpy as np

from krang_dynamics_ros import load_robot
from krang_dynamics_ros.core.files import share
from krang_dynamics_ros.simulation.simulation import Simulation

arm = load_robot(share('config', 'textbook', 'arm_2r.yaml'))
simulation = Simulation(arm, [0.3, 0.0])
no_torque = np.zeros(arm.n)
at_first = simulation.energy

for second in range(5):
    angles = ', '.join(f'{name} {angle:+.3f} rad' for name, angle in zip(arm.joint_names, simulation.q, strict=True))
    print(f'{second} s: {angles}; energy {simulation.energy - at_first:+.1e} J off')
    for _ in range(1000):
        simulation.step(no_torque)  # 1 ms
