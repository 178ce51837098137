"""From objects to a linear model: systems, topology, assembly, relaxation, linearisation."""
