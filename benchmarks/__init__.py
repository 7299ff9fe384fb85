"""The experiments of the paper as programs and embeddings, and what is measured on them, one thread each."""

import os

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Before numpy is imported anywhere: array products must not use more threads than the solvers they are compared with.
for _name in THREAD_VARIABLES:
    os.environ.setdefault(_name, "1")
