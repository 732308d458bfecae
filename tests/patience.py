"""The one constant that bounds deadlocks in tests, in seconds: see patience.h."""

import pathlib
import re

PATIENCE = int(re.search(r"^#define PATIENCE_S (\d+)$",
                         pathlib.Path(__file__).with_suffix(".h").read_text(),
                         re.MULTILINE)[1])
