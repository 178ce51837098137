"""Modes: dense and large models, modes at zero, members exact in frequency."""
