"""limits.py CASE [ARG...]: what limits.bats does, mostly inside, where this comes on stdin."""
import os
import signal
import socket
import sys
import time


def fork_bomb(most):
    count = 0
    try:
        while count < 1000:
            if os.fork() == 0:
                signal.pause()
            count += 1
    except BlockingIOError:
        print("refused after", count < int(most))


def fill_memory(size):
    filled = bytearray(int(size))
    time.sleep(1000)
    del filled


def hang_up(path):
    """On the host: a socket that takes connections and closes them."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        listener.accept()[0].close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
