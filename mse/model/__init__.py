"""What the user has built, as arrays: systems, frames, topology, assembly of the elements."""
