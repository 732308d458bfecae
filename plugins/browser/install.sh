#!/bin/sh
# Makes the current directory the virtual environment of the browser's driver: a folder of the
# store; hutch runs this in a sandbox that reaches PyPI alone.  Chromium itself is the rootfs's:
# `playwright install` would fetch another one, from a host that is no package index.
set -eu

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
	echo "browsergym-core needs Python 3.10 or newer" >&2
	exit 1
}
python3 -m venv .
bin/python3 -m pip install --quiet --no-input --disable-pip-version-check --no-cache-dir \
	browsergym-core==0.13.3 playwright==1.55.0 html2text==2025.4.15 puremagic==1.30 \
	pillow==11.3.0 lxml==5.4.0
bin/python3 -c 'import browsergym.core, html2text, lxml, PIL, puremagic'
