"""The linear model about a working point: M, Lambda and K with names, and models made from others."""
