"""Effects that a drive adds to the rigid body, one file each: columns of a fit, and what they write to a joint."""
