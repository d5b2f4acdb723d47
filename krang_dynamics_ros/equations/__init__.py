"""The papers' equations on robot data: witnesses, independent of URDF and Pinocchio."""
