"""Plots and the command line.  Each imports its own extra; no other module imports these."""
