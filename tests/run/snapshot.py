"""Runs in a sandbox of snapshot.bats: a process that is in vfork(2) until its
child has gone, and the child, which is in open(2) until another process opens
/w/go."""
import ctypes

libc = ctypes.CDLL(None)
libc.vfork()
libc.write(1, b"in the middle\n", 14)
libc.open(b"/w/go", 0)
libc.creat(b"/went", 0o644)
libc._exit(0)
