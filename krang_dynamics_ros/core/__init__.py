"""Small mathematics and the errors that every other folder uses."""
