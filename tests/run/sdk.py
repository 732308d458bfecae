"""For any Python: prints its version and path if the SDK supports it."""
import os
import sys

if sys.version_info >= (3, 9):  # noqa: UP036
    print(sys.version_info.major * 1000 + sys.version_info.minor, os.path.realpath(sys.executable))
