"""From recordings of a real robot to its parameters, and a trajectory that determines them well."""
