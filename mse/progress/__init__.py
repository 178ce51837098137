"""Progress of long calls: one line that says what is being done, however deep the calls are.

Each analysis opens a :class:`Task`; those opened within it, such as compiling, are stages of its line.  The line is drawn by a
thread, since a kernel that compiles for five seconds, or one factorization, tells nothing meanwhile.  It goes to the terminal of
stderr or to the cell of a notebook, sentences go to the logger ``mse`` at INFO; files and pipes get nothing.  A task that has
ended takes its line away with it, one that was interrupted leaves it.

Why not a library: tqdm draws when it is told of a step, so not while a stage is silent, one bar for each task within a task, and
needs ipywidgets in a notebook, whose state is lost when that is exported; rich takes over stdout and stderr.  Their users would
also see another thing than those who have neither.
"""
