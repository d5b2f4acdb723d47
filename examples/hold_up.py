"""The gravity torque of every joint of Krang at a pose, beside its effort limit.

.venv/bin/python examples/hold_up.py
"""

from krang_dynamics_ros import dynamics_of, krang

robot = krang()
dynamics = dynamics_of(robot)
q = dynamics.vector({'q_2l': -1.57, 'q_2r': 1.57})  # both arms out forward, the rest at zero

print(f'{robot.name}, {robot.mass:.1f} kg')
for joint, torque in zip(robot.moving_joints, dynamics.Q(q), strict=True):
    share = abs(torque) / joint.limits.effort if joint.limits else 0.0
    print(f'{joint.name:<8}{torque:>9.2f} N m{share:>8.0%} of its limit')
