"""Progress of long calls: one bar that says what is being done, however deep the calls are.

Each analysis opens a :class:`Task`; those opened within it, such as compiling, are stages of its bar.  The thread that computes
draws it as often as it tells how far it is; between two of these nothing moves.  tqdm (extra ``progress``) draws on the terminal
of stderr and in notebooks, and keeps the bar apart from those of the program; files and pipes get nothing.  Sentences go to the
logger ``mse`` at INFO.  A task that has ended takes its bar away with it, one that was interrupted leaves it.
"""
