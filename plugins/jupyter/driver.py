#!/usr/bin/env python3
"""driver.py -- answers run_ipython: the program of the plugin jupyter (docs/plugins.md).

Python 3.9 and its standard library are enough.  hutch_jupyter/__init__.py says what is where.
"""
from hutch_jupyter.session import Session

Session().run()
