"""Small mathematics and the errors that every other room uses."""
