#!/usr/bin/env python3
"""driver.py -- answers browse and browse_interactive: the program of the plugin browser
(docs/plugins.md).

hutch_browser/__init__.py says what is where.
"""
import os
import sys

from hutch_browser import needs

python = needs.other_python()
if python:
    os.execv(python, [python, "-B", os.path.abspath(__file__)])

from hutch_browser.wire import Wire  # noqa: E402 (the interpreter is chosen first)

wire = Wire()
missing = needs.missing()
if missing:
    wire.send({"failed": missing})
    sys.exit(1)

from hutch_browser.session import Session  # noqa: E402 (it imports what may be missing)

Session(wire).run()
