"""Results handed on to other programs and read back, and models of other programs read."""
