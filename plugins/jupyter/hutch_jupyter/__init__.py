"""hutch_jupyter -- what driver.py is made of.

wire.py       the executor's lines
session.py    calls: cells in order, time limits, kernels that end
cell.py       what one cell gives, within bounds
kernel.py     the form with a real kernel, by messages.py
plain.py      the form without: interpreter.py in a child, by frames.py
process.py    programs that are started and ended
editor.py     the socket at which cells ask for edits
choice.py     which form it is

In the child: interpreter.py runs cells by source.py, magics.py, tracebacks.py, pretty.py,
rich.py and figures.py.
"""
