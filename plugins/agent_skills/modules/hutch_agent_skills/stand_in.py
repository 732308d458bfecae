"""stand_in -- keeps an installed package `openhands` usable beside ours.

Our package `openhands` comes first on PYTHONPATH, so that the module of skills is found.  Each of
our packages takes the folders of the package that it hides into its __path__.  It runs that one's
__init__ when a name is asked for that only the hidden package can have: to import the skills
runs nothing of OpenHands, which takes seconds.
"""
import importlib.machinery
import os
import sys

# Tools ask every module for names such as __wrapped__, which no package has.
DUNDERS = {"__all__", "__version__"}


def hidden_spec(name, own):
    """Returns the spec of the package that ours hides, or None."""
    parent, _, last = name.rpartition(".")
    folders = sys.modules[parent].__path__ if parent else sys.path
    others = [folder for folder in folders if os.path.realpath(os.path.join(folder, last)) != os.path.realpath(own)]
    return importlib.machinery.PathFinder.find_spec(name, others)


def stand_in(package):
    """Makes the module whose globals are `package` stand for the one that it hides, too."""
    name = package["__name__"]
    spec = hidden_spec(name, package["__path__"][0])
    if spec is None:
        return
    package["__path__"] = [*package["__path__"], *(spec.submodule_search_locations or ())]
    if not spec.has_location:
        return  # a namespace package, which has no __init__

    def get(attribute):
        if attribute.startswith("__") and attribute not in DUNDERS:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        # While the hidden __init__ runs, it sees a module without this function.
        del package["__getattr__"]
        own_file, package["__file__"] = package["__file__"], spec.origin
        try:
            exec(spec.loader.get_code(name), package)
        except BaseException:
            package["__file__"], package["__getattr__"] = own_file, get
            raise
        try:
            return package[attribute]
        except KeyError:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}") from None

    package["__getattr__"] = get
