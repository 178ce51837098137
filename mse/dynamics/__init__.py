"""Large motions of systems in time: equations of motion, steps, consistent starts, and their results."""
