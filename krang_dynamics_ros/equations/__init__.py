"""The papers' equations on robot data: witnesses, independent of Pinocchio and of the URDF text that it gets."""
