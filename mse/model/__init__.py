"""The user's system as arrays: objects, frames, topology, assembly of the elements."""
