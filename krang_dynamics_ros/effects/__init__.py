"""Effects that a drive adds to the rigid body, one file each: the columns of a fit and the data of a joint."""
