"""Plots, exchange with other programs, and the command line.  Nothing below this room imports it."""
