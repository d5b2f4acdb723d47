"""From recordings of a real robot to its parameters, and a trajectory that determines them well.

The model of the efforts of the counted joints, which are those whose efforts are used:

    effort = known effort + Y phi + columns of the effects * factors + residual

- phi: the ten parameters of each moving body, Y their regressor. Links without a moving joint between them are one body
  (`merged_robot.py`).
- Known effort: where fixed joints rest elsewhere than in the first recording, the effort of the difference between the
  merged bodies of both, by the numbers of the robot file.
- Effects (`effects/`): each gives columns, functions of the motion and the load, one for each factor that a fit finds.
  The library (`structure.py`) has all effects that are tried on a joint, with their constants; couplings are effects on
  two joints. A `Structure` is a choice of them, with a cut-off and the prior width of the bodies.
- Load: gravity and Coriolis torque of the bodies. It depends on phi, so a fit takes it from an earlier fit.
- Crossing, rad/s per N m: times the load, it is the velocity at which a drive changes between pushing and braking
  (`effects/load.py`).
- Folds: parts of the rows, by phase if the motion is periodic. Cross-validation predicts each by a fit to the others.

Data go this way:

1. `samples.py`: smoothed rows at a cut-off, with Y, efforts and folds.
2. `gram.py`: a preliminary fit, without effects of the load, gives load and crossing. X has all columns: of the bodies,
   the library and the possible couplings, and the effort. The search needs only X^T X of each fold and joint.
3. `choice.py`: the search. A structure picks its columns of X^T X (`fit.Problem`); each trial is a ridge regression.
4. `fit.last_fit`: the fit of the chosen structure, with possible bodies. It is repeated with the load of the fitted
   bodies until both agree.
5. `identify.py`, `identified_file.py`: the numbers in the robot, and in the robot file.
"""
