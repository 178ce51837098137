"""Time evolution of a linear model: state space, exact steps, controllers, recordings."""
