#!/bin/sh
# Makes the virtual environment of a real kernel in the current directory, a folder of the
# store; hutch runs this in a sandbox that reaches PyPI alone.
set -eu

# The venv sees the packages of the rootfs, and user installations, because cells import them
# and %pip adds to them: the store itself is read-only for sandboxes.
python3 -m venv --system-site-packages venv

# IPython before 9.4 copies all that a cell has printed at each print().  A Python that is too old
# for these versions has the ipykernel that OpenHands has.
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	set -- ipykernel==7.4.0 ipython==9.18.1 jupyter_client==8.10.0 matplotlib-inline==0.2.2
else
	set -- ipykernel==6.29.5 jupyter_client==8.6.3 matplotlib-inline==0.1.7
fi
# The venv must not lean on a package that this rootfs happens to have: --ignore-installed.
venv/bin/python3 -m pip install --quiet --no-input --disable-pip-version-check \
	--no-cache-dir --ignore-installed "$@"
venv/bin/python3 -c 'import ipykernel, jupyter_client, zmq'
