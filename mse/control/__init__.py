"""Feedback around linear models: controllers, closed loops, their margins, poles and stability."""
