"""choice -- which kernel runs the cells.

In this order: the kernelspec that HUTCH_JUPYTER_KERNEL names, the virtual environment of `hutch
plugin install jupyter`, the ipykernel of python3, and Python's own interpreter.
"""
import importlib.util
import json
import os
import sys

OWN = "python's own interpreter"


class Choice:
    """`why_plain` is the reason for Python's own interpreter, and None for a kernel."""

    def __init__(self, folder):
        self.folder = folder
        self.spec = None
        self.why_plain = None
        try:
            self.spec = chosen_spec()
        except LookupError as e:
            self.why_plain = str(e)
        if self.spec and not folder:
            self.fall_back("no folder for the kernel's sockets could be made")

    def fall_back(self, why):
        """Returns whether there was something to fall back from."""
        had_kernel, self.spec = self.spec is not None, None
        self.why_plain = why
        return had_kernel

    def new_form(self):
        if self.spec:
            from .kernel import Kernel
            return Kernel(self.spec, self.folder)
        from .plain import Plain
        return Plain(f"{OWN}; {self.why_plain}")


def chosen_spec():
    """Returns the kernelspec as its file has it (jupyter_client, "Kernel specs"), or raises
    LookupError with a reason."""
    name = os.environ.get("HUTCH_JUPYTER_KERNEL")
    venv, why_not = usable_venv()
    if venv:
        # The packages of the venv come last: the driver needs nothing but zmq of it.
        sys.path.append(site_packages(venv))
    if importlib.util.find_spec("zmq") is None:
        raise LookupError(why_not or f"ipykernel is not installed{name and f', so there is no kernel {name}' or ''}")
    if name:
        return named_spec(name, venv)
    python = sys.executable
    if venv:
        python = os.path.join(venv, "bin", "python3")
    elif not (importlib.util.find_spec("ipykernel") and importlib.util.find_spec("jupyter_client")):
        raise LookupError(why_not or "ipykernel is not installed")
    # ipykernel sleeps half a millisecond after each cell unless it is told not to.
    return {"argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--Kernel._execute_sleep=0"],
            "language": "python", "transport": "ipc"}


def site_packages(venv):
    return os.path.join(venv, "lib", "python{}.{}".format(*sys.version_info), "site-packages")


def usable_venv():
    """Returns the virtual environment, or None and why it is of no use."""
    given = os.environ.get("HUTCH_PLUGIN_VENV")
    if not given:
        return None, None
    for venv in (given, os.path.join(given, "venv")):
        if os.access(os.path.join(venv, "bin", "python3"), os.X_OK):
            if os.path.isdir(os.path.join(site_packages(venv), "ipykernel")):
                return venv, None
            return None, "the installed ipykernel is not for this version of Python"
    return None, "no python3 is in the virtual environment of the plugin"


def kernel_folders(venv):
    """Returns where kernelspecs are (Jupyter, "Data files")."""
    home = os.environ.get("JUPYTER_DATA_DIR") or os.path.expanduser("~/.local/share/jupyter")
    given = [path for path in os.environ.get("JUPYTER_PATH", "").split(":") if path]
    prefixes = [venv, sys.prefix, "/usr/local", "/usr"]
    shared = [os.path.join(prefix, "share/jupyter") for prefix in prefixes if prefix]
    return [os.path.join(folder, "kernels") for folder in (*given, home, *shared)]


def named_spec(name, venv):
    for folder in kernel_folders(venv):
        path = os.path.join(folder, name)
        try:
            with open(os.path.join(path, "kernel.json"), encoding="utf-8") as file:
                return {**json.load(file), "folder": path, "name": name}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as e:
            raise LookupError(f"the kernelspec {path} cannot be read: {e}") from None
    raise LookupError(f"no kernelspec {name!r} was found")
