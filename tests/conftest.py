"""Settings of the whole test run."""

import os

# mse holds BLAS to one thread by itself (tests/numerics/test_blas_threads.py), but tests also call what is inside it and
# solve references with NumPy: on a busy machine threads that wait for each other take tens of times as long for these.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
