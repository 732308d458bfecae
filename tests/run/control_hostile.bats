#!/usr/bin/env bats
# Hostile clients of the control socket: each gets an error of the documented
# form, other clients notice nothing, and the supervisor ends with as much
# memory and as many descriptors as it began with.

load helpers
load supervised

# One sandbox serves all cases until one ends it: filling the stores of a supervisor takes longer
# than most cases.
setup_file() {
	begin
	supervise
	export control inner
	hostile warm_up
}

teardown_file() {
	stop_supervised
	end
}

setup() {
	begin
}

teardown() {
	[[ -z ${is_own:-} ]] || stop_supervised
	end
}

# needs_sandbox: starts another sandbox if the one of all cases has ended.
needs_sandbox() {
	[[ -S $control ]] || { is_own=yes && supervise; }
}

hostile() {
	as_who "$here/control_hostile.py" "$1" "$control"
}

@test "garbage is an error of its own code, with its id where it has one" {
	hostile garbage
}

@test "a request before hello, and another protocol, is refused" {
	hostile before_hello
}

@test "half a line and gone leaves nothing" {
	hostile half_a_line
}

@test "a line of hundreds of MB is dropped as it comes" {
	hostile long_line
}

@test "requests of 31 MiB are refused or done, and the sandbox lives" {
	hostile large_requests
}

@test "a thousand requests at once are each answered once" {
	hostile thousand_at_once
}

@test "a client that does not read is not read from, and delays no other" {
	hostile does_not_read
}

@test "a client that does not read file contents is not read from either" {
	hostile does_not_read_files
}

@test "waiting actions of other clients delay no other request" {
	hostile full_desk
}

@test "128 of 200 connections are served, and 72 get an error" {
	hostile two_hundred_connections
}

@test "thousands of connections that come and go leave nothing" {
	hostile connect_and_leave
}

@test "a hundred clients, one after the other, each have their own ids" {
	hostile hundred_clients_act
}

@test "descriptors that a method does not take, too many, or beside another byte" {
	hostile descriptors_everywhere
}

@test "each of many requests at once has its own descriptors" {
	hostile descriptors_with_their_request
}

@test "descriptors beside hello are for the request behind it" {
	hostile descriptors_with_hello
}

@test "descriptors of sockets, folders and descriptors" {
	hostile other_descriptors
}

@test "a client that was killed: what is not detached ends within the grace" {
	hostile killed_client
}

@test "without a free descriptor no client is let in, and nothing spins" {
	[[ $(id -u) != 0 ]] || skip "root may not look into a supervisor that is nobody's"
	hostile no_descriptor_left
}

@test "a process is not started for a client that has gone meanwhile" {
	hostile asked_and_gone
}

@test "clients that were killed while they asked leave no process" {
	hostile killed_while_it_asks
}

@test "more than 512 processes are refused" {
	hostile too_many_processes
}

@test "thousands of signals, and such as there are not" {
	hostile many_signals
}

@test "two clients in one session take turns, and an action is done once" {
	hostile two_in_one_session
}

@test "an action of another client is not cancelled" {
	hostile cancel_of_others
}

@test "lines of 80 MB in a stream of actions" {
	hostile stream_of_long_lines
}

@test "many renames at once: one name holds" {
	hostile rename_races
}

@test "at a stop every waiting client is answered" {
	needs_sandbox
	hostile stop_while_it_runs
	[[ ! -e $control ]]
}

@test "at a kill every waiting client is answered" {
	needs_sandbox
	hostile kill_while_it_runs
	[[ ! -e $control ]]
}

