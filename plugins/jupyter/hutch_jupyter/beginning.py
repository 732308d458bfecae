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


def make_one_piece(thread):
    """A thread of ipykernel's own sends its messages, and is woken for each, which costs more than
    to make it.  `busy`, the cell's code and its result are followed by `idle` or by output, and
    nobody waits for them alone: they go together with the next message."""
    def send_multipart(frames, *args, **kwargs):
        topic = bytes(frames[0])
        if thread.thread.is_alive() and (topic.endswith((b"execute_input", b"execute_result")) or
                                         topic.endswith(b"status") and b'"busy"' in bytes(frames[-1])):
            thread._events.append(lambda: thread._really_send(frames, *args, **kwargs))
        else:
            send_and_wake(frames, *args, **kwargs)

    send_and_wake = thread.send_multipart
    if hasattr(thread, "_events") and hasattr(thread, "_really_send"):
        thread.send_multipart = send_multipart


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
    make_one_piece(shell.kernel.iopub_thread)
except Exception:
    pass  # another version of IPython, whose colours are taken out of its texts anyway
print(sys.executable)
