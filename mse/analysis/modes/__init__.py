"""Modes: dense ones, of large models, at zero, of members exact in frequency."""
