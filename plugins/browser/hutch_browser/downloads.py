"""downloads -- files that the browser has fetched.

Chromium writes them into `.downloads` of the working directory.  A file that an action with an
error has brought is copied to `file_N` beside it, with the ending that its first bytes tell.
"""
import os
import shutil

import puremagic

# The most bytes of a file; chromium.sh hands it to the kernel.
FILE_MAX = 1 << 30


class Downloads:
    def __init__(self, workdir):
        self.workdir = workdir
        self.folder = os.path.join(workdir, ".downloads")
        self.seen = []
        self.begun = []
        os.makedirs(self.folder, exist_ok=True)

    def began(self, download):
        self.begun.append(download)

    def finish(self, is_awaited):
        """Takes the downloads that have begun, waits for their end if that is asked for, and
        returns a remark on each that has failed."""
        begun, self.begun = self.begun, []
        remarks = []
        for download in begun if is_awaited else []:
            why = download.failure()
            if why:
                name = download.suggested_filename[:200]
                remarks.append(f"The download of {name!r} has failed: {why}; a file may have at most {FILE_MAX} bytes")
        return remarks

    def names(self):
        try:
            return os.listdir(self.folder)
        except OSError:
            return []

    def take_new(self):
        """Copies the first new file and returns where it is now, or None."""
        for name in self.names():
            if name not in self.seen and not name.endswith(".crdownload"):
                self.seen.append(name)
                return self.copy(os.path.join(self.folder, name))
        return None

    def copy(self, source):
        target = os.path.join(self.workdir, f"file_{len(self.seen)}{ending_of(source)}")
        shutil.copy(source, target)
        return target


def ending_of(path):
    try:
        guesses = puremagic.magic_file(path)
        return guesses[0].extension.strip() if guesses else ""
    except Exception:  # puremagic raises others than its own for odd files
        return ""
