"""Noise of a linear model: thermal noise by source, noise of inputs, budgets."""
