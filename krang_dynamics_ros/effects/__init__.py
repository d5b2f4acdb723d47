"""Effects that a drive adds to the rigid body, one file each: their numbers, formulas, and columns in a fit.

A torque that depends on the velocity or the position of its joint alone is a `JointEffect`, listed in
`joint_effects.JOINT_EFFECTS`. The others have shapes of their own: presliding remembers, load effects and offset
describe what is read, a coupling joins two joints, and a rotor is part of A. A fit treats all of them as `Effect`s.
"""
