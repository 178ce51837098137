"""Checks of values from users and files; errors name the object, the value, the expectation and the remedy."""
