"""What people look at and type: plots and the command line.  Each imports its own extra; nothing imports these."""
