"""beginning -- what a kernel of Python runs before its first cell.

kernel.py sends this text to ipykernel; it is not imported.  It prints the path of Python.
"""
import os
import site
import sys


def make_quick(kind):
    """ipykernel flushes both streams several times a cell, and each time waits for a thread of
    its own.  A stream whose buffers are empty has nothing to flush; one that calls its buffers
    otherwise is flushed as ever.  Messages stay in order: that thread alone sends them."""
    flush = kind.flush

    def flushing(self):
        if getattr(self, "_buffers", True):
            flush(self)
    kind.flush = flushing


def prepare_cells(shell):
    """IPython 9 keeps all that cells print, under the number of the cell, which without a history
    is always 1: its memory and the time of each print() would grow with every cell.  And a cell
    with %pip may have made the folder of the user's packages, which Python found missing when it
    began."""
    outputs = shell.history_manager.outputs
    folder = site.getusersitepackages() if site.ENABLE_USER_SITE else None

    def prepare(_info):
        outputs.clear()
        if folder and folder not in sys.path and os.path.isdir(folder):
            site.addsitedir(folder)
    shell.events.register("pre_run_cell", prepare)


try:
    shell = get_ipython()  # noqa: F821
    shell.run_line_magic("colors", "nocolor")
    prepare_cells(shell)
    make_quick(type(sys.stdout))
except Exception:
    pass  # another version of IPython, whose colours are taken out of its texts anyway
print(sys.executable)
