"""The papers' equations on robot data alone: the witnesses, which see neither URDF nor Pinocchio."""
