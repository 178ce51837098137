"""Analyses of a linear model: modes, frequency response, state space, time evolution."""
