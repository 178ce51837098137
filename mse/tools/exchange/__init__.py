"""Writing results for other programs, reading them back, and reading models of other programs."""
