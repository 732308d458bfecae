"""In a sandbox of snapshot.bats: a process whose parent is in vfork(2) until its child has gone,
and a child that is in open(2) until somebody opens /w/go."""
import ctypes

libc = ctypes.CDLL(None)
libc.vfork()
libc.write(1, b"in the middle\n", 14)
libc.open(b"/w/go", 0)
libc.creat(b"/went", 0o644)
libc._exit(0)
