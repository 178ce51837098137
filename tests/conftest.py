"""Settings of the whole test run."""

import os

# The matrices of most tests are too small for BLAS threads, which then only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
