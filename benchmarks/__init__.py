"""What things cost, each beside what it is built on, in one run: `make bench`."""
