"""What a load on a hand costs each joint, by J^T f: 2 kg in the left hand, the arm stretched out forward.

.venv/bin/python examples/lift.py
"""

from krang_dynamics_ros import Wrench, dynamics_of, krang

robot = krang()
dynamics = dynamics_of(robot)
q = dynamics.vector({'q_2l': -1.57})

# The robot must push the load up with 20 N, in the axes of its base, R0, whose z points up.
lift = Wrench('R10l', force=(0, 0, 20), axes='R0')
gravity, extra = dynamics.Q(q), dynamics.wrench_torque(q, [lift])

for name, alone, more in zip(robot.joint_names, gravity, extra, strict=True):
    if abs(more) > 0.01:
        print(f'{name:<8}{alone:>9.2f} N m for the robot itself, {more:>+8.2f} N m for the load')
