"""In a sandbox of snapshot.bats: a process whose parent cannot be stopped before the child of
vfork(2) has gone, which waits for somebody who opens /w/go."""
import ctypes

libc = ctypes.CDLL(None)
libc.vfork()
libc.write(1, b"in the middle\n", 14)
libc.open(b"/w/go", 0)
libc.creat(b"/went", 0o644)
libc._exit(0)
