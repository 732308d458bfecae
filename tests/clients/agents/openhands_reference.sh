#!/bin/bash
# openhands_reference.sh SOURCES PYTHON [ARGUMENT OF pytest...]: runs the tests that OpenHands 0.62 has
# for its runtimes, byte by byte as they are, with its RemoteRuntime and `hutch serve`.  SOURCES is a
# checkout of that version, for its folder tests/runtime; PYTHON has the packages openhands-ai==0.62.0,
# pytest and pytest-asyncio.  HUTCH is the program, and CREATE has options of `hutch create` for all
# sandboxes, split at blanks.  By hand: `make clients-test` has no checkout.
#
# The protocol has no mounts, so tests that look at a folder of the host's fail, and those of a browser
# need one inside (docs/plugins.md).
set -u
[ $# -ge 2 ] || { sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2; }
sources=$1 python=$2
shift 2
work=$(mktemp -d) || exit
trap 'kill $server 2>/dev/null; wait; rm -rf "$work"' EXIT
mkfifo "$work/url" || exit
# shellcheck disable=SC2086 # CREATE has several words
"$HUTCH" serve --listen 127.0.0.1:0 --key-file "$work/key" --name "reference-$$" -- ${CREATE:-} \
	>"$work/url" 2>"$work/serve.log" &
server=$!
read -r url <"$work/url" || { cat "$work/serve.log" >&2; exit 1; }
cd "$sources/tests/runtime" || exit
SANDBOX_API_KEY=$(cat "$work/key")
export SANDBOX_API_KEY SANDBOX_REMOTE_RUNTIME_API_URL=$url SANDBOX_RUNTIME_CONTAINER_IMAGE=host
export TEST_RUNTIME=remote HOME=$work PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -p no:cacheprovider -q -rfE "$@"
code=$?
# A test that fails may leave its sandbox.
"$HUTCH" ps -a -q --filter "label=hutch.serve=reference-$$" | xargs -r "$HUTCH" rm -f >/dev/null
exit $code
