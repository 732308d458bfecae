#!/usr/bin/env bats
# Tests of -q, and of the variable HUTCH_QUIET: hutch writes no notes to stderr, but errors.

bats_require_minimum_version 1.5.0
load helpers

teardown() {
	remove_boxes
	end
}

# silent ARGUMENT...: runs hutch with them, and checks that it writes nothing to stderr.
silent() {
	hutch "$@"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

# noted ARGUMENT...: runs hutch with them, and checks that it writes to stderr.
noted() {
	hutch "$@"
	[ "$status" -eq 0 ]
	[[ $stderr == "hutch: "* ]]
}

@test "run, act, create and exec are quiet with -q, whatever the note is" {
	room project
	local change=(--workspace "$T/project:cow" -- touch new)
	noted run "${change[@]}"
	silent run -q "${change[@]}"
	silent run --quiet "${change[@]}"
	noted run --network host -- true
	silent run -q --network host -- true
	noted run --isolation landlock --network host -- true
	silent run -q --isolation landlock --network host -- true
	noted act --network host <<<''
	silent act -q --network host <<<''
	noted create --network host box
	silent exec -q --secret S=ab box true
	noted exec --secret S=ab box true
	silent stop -q box
	silent rm -q box
	silent create -q --network host box
}

@test "what is kept can still be found without the note" {
	room project
	silent run -q --workspace "$T/project:cow" -- touch new
	hutch changes -q
	[ "${#lines[@]}" -eq 1 ]
	hutch diff -q "${lines[0]}"
	[[ $output == *"/workspace/new" ]]
	hutch diff "${lines[0]}" nowhere
}

@test "errors are written with -q, and the hint below them" {
	hutch run -q --nope
	[ "$status" -eq 125 ]
	[[ ${stderr_lines[0]} == "hutch: unknown flag --nope" ]]
	[[ ${stderr_lines[1]} == "hutch: hint: "* ]]
	hutch run -q -- no-such-program
	[ "$status" -eq 127 ]
	[[ $stderr == "hutch: no-such-program: command not found"* ]]
	hutch rm -q nobody
	[ "$status" -eq 125 ]
	one_sentence "no sandbox named 'nobody' exists"
}

@test "the variable is for all verbs, and an empty one is none" {
	room project
	HUTCH_QUIET=1 hutch run --workspace "$T/project:cow" -- touch new
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	HUTCH_QUIET='' noted run --network host -- true
	HUTCH_QUIET=1 hutch run -- env
	[[ $output != *HUTCH_QUIET* ]]
}
