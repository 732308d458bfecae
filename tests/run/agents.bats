#!/usr/bin/env bats
# Tests that stock clients of other people's still fit hutch, each by a few commands; `make
# clients-test` has whole conversations of them.  Their packages are in a virtual environment that
# `make agents-venv` has made.

load helpers

setup() {
	begin
	agents=$top/tests/clients/agents
	mkdir bin
	ln -s "$HUTCH" bin/docker
	ln -s "$HUTCH" bin/apptainer
	export HUTCH PATIENCE PATH=$T/bin:$PATH
}

teardown() {
	remove_boxes
	end
}

# needs_venv MODULE: skips the test where the environment has no such package.
needs_venv() {
	venv=$(cat "$BUILD/agents-venv") # `make agents-venv` writes it
	[[ $venv != none:* ]] || skip "this host has no clients of PyPI: ${venv#none: }"
	compgen -G "$venv/lib/python3*/site-packages/$1" >/dev/null || skip "this host has no Python for $1"
}

# server_image NAME: makes an image of the stand-in for OpenHands' server, whose programs are this
# host's, and a folder for the policy that shows them.
server_image() {
	image root
	"$HUTCH" image import root --name root >/dev/null
	mkdir -p context config/hutch
	cp "$agents/stand_in.py" context
	printf 'FROM root\nCOPY stand_in.py /\nENTRYPOINT ["/usr/bin/python3", "-SE", "/stand_in.py"]\n' >context/Dockerfile
	docker build -q -t "$1" context >/dev/null
}

# drive CLIENT: has smoke.py use it.
drive() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top/sdk/python:$T/installed "$venv/bin/python" "$agents/smoke.py" "$1"
}

@test "mini-swe-agent runs a command by docker" {
	needs_venv minisweagent
	MSWEA_SILENT_STARTUP=1 MSWEA_GLOBAL_CONFIG_DIR=$T/config drive mini_swe_agent
}

@test "mini-swe-agent runs a command by bwrap" {
	needs_venv minisweagent
	export MSWEA_BUBBLEWRAP_EXECUTABLE=$BUILD/libexec/hutch-bwrap HUTCH_MARK=outer
	MSWEA_SILENT_STARTUP=1 MSWEA_GLOBAL_CONFIG_DIR=$T/config drive mini_swe_agent_bwrap
}

@test "mini-swe-agent runs commands in a folder by singularity" {
	needs_venv minisweagent
	image root
	ln -s "$HUTCH" bin/singularity
	MSWEA_SINGULARITY_EXECUTABLE=$T/bin/singularity MSWEA_SILENT_STARTUP=1 \
		MSWEA_GLOBAL_CONFIG_DIR=$T/config drive mini_swe_agent_apptainer
}

@test "SWE-ReX has a session of bash by docker" {
	needs_venv swerex
	drive swe_rex
}

@test "Inspect finds its provider, and a sample has a file and a command" {
	needs_venv inspect_ai
	"$venv/bin/python" "$agents/entry_point.py" "$top/sdk/python" "$T/installed"
	drive inspect_ai
}

@test "OpenHands has a command by DockerWorkspace, and by HutchWorkspace" {
	needs_venv openhands
	server_image server
	# best_effort is for hosts whose limit of descriptors is lower than what the client asks for.
	echo '{"version":1,"mounts":["/usr:/usr:ro"],"limits":{"best_effort":true}}' >config/hutch/docker.json
	export XDG_CONFIG_HOME=$T/config LITELLM_LOCAL_MODEL_COST_MAP=True OPENHANDS_SUPPRESS_BANNER=1 LOG_LEVEL=WARNING
	drive openhands
}

@test "OpenHands has a command by ApptainerWorkspace" {
	needs_venv openhands
	server_image server:1
	room cache
	# The client asks the server at a port of this host.
	echo '{"version":1,"mounts":["/usr:/usr:ro"],"network":"host"}' >config/hutch/apptainer.json
	export XDG_CONFIG_HOME=$T/config LITELLM_LOCAL_MODEL_COST_MAP=True OPENHANDS_SUPPRESS_BANNER=1 LOG_LEVEL=WARNING
	drive openhands_apptainer
}

@test "E2B's SDK has a file and a command by hutch serve" {
	needs_venv e2b
	room keys
	drive e2b
}

@test "MCP's client calls a tool of hutch mcp" {
	needs_venv mcp
	drive mcp
}
