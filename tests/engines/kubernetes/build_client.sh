#!/bin/bash
# build_client.sh VERSION FOLDER: makes a virtual environment in FOLDER/venv with OpenHands VERSION of
# PyPI, for a Python of this machine that has a wheel of it.
set -eu
version=$1 folder=$2
for python in python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12.*/bin/python3; do
	"$python" -c 'import venv' 2>/dev/null && break
done
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check uv
# The folder gets another name when it is made, so only `python` of its programs can be started.
nice -n 19 "$folder/venv/bin/uv" pip install -q --no-cache --only-binary openhands-ai \
	--python "$folder/venv/bin/python" "openhands-ai==$version"
echo "installed openhands-ai $version"
