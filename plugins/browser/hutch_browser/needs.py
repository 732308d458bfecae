"""needs -- what the driver needs of the root file system, and what of it is missing."""
import ctypes
import importlib.util
import os
import shutil
import sys

PACKAGES = {"browsergym.core": "browsergym-core", "playwright": "playwright", "html2text": "html2text",
            "puremagic": "puremagic", "PIL": "pillow"}
# Debian's /usr/bin/chromium is a script that needs more of /etc than the program itself.
CHROMIUM_PATHS = ("/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser",
                  "/opt/google/chrome/chrome", "/usr/lib/chromium-browser/chromium-browser")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000


def other_python():
    """Returns the interpreter of the virtual environment of `hutch plugin install`, unless it is
    this one."""
    venv = os.environ.get("HUTCH_PLUGIN_VENV")
    python = venv and os.path.join(venv, "bin", "python3")
    is_it = os.path.realpath(sys.prefix) == os.path.realpath(venv or "")
    return python if python and not is_it and os.access(python, os.X_OK) else None


def chromium():
    """Returns the path of Chromium, or None."""
    named = os.environ.get("HUTCH_BROWSER")
    if named:
        return shutil.which(named)
    for path in CHROMIUM_PATHS:
        if os.access(path, os.X_OK):
            return path
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def has_package(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def missing():
    """Returns a sentence that names all that is missing, or None."""
    packages = [package for name, package in PACKAGES.items() if not has_package(name)]
    absent = [f"the Python packages {', '.join(packages)} (hutch plugin install browser)"] if packages else []
    if not chromium():
        absent.append("Chromium (Debian's package chromium)")
    if not absent:
        return None
    version = ".".join(map(str, sys.version_info[:2]))
    return f"this sandbox lacks {' and '.join(absent)}; python3 is {sys.executable} {version}"


def can_nest():
    """Returns whether Chromium can make the namespaces of its own sandbox, as a child finds out
    (user_namespaces(7))."""
    pid = os.fork()
    if pid == 0:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            done = libc.unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) == 0
            os._exit(0 if done else 1)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
