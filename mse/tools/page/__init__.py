"""The page in three dimensions: a working point, its modes and runs in one HTML file, drawn by the scripts in ``viewer/``."""
