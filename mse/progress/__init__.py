"""Progress of long calls: one line that says what is being done, however deep the calls are.

Each analysis opens a :class:`Task`; those opened within it, such as compiling, are stages of its line.  The line is drawn by a
thread, since a kernel that compiles for five seconds, or one factorization, cannot report meanwhile.  It goes to the terminal of
stderr or to the cell of a notebook, sentences go to the logger ``mse`` at INFO; files and pipes get nothing.  A task that has
ended takes its line away with it, one that was interrupted leaves it.

Where tqdm is installed (extra ``progress``), it draws the line of a terminal as a bar, at the same times and with the same words,
and keeps it apart from the bars that the program shows by tqdm itself.  In a notebook tqdm needs ipywidgets, whose state is lost
when that is saved or exported, so the line stays ours there.  rich takes over stdout and stderr.
"""
