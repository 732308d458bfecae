#!/usr/bin/env bats
# Tests of the observations of a session; session.py has sequences of rows, each an action and its
# expected observation (docs/actions.md).

load helpers

# plays NAME [OPTION...]: plays the sequence NAME of session.py.
plays() {
	"$here/session.py" "$HUTCH" "$@"
}

@test "every sequence that was recorded from the reference agrees" {
	"$here/golden_session.py" "$HUTCH" "$here/golden/session.json"
}

@test "while nothing runs there is nothing to see and nothing to tell" {
	plays "nothing runs"
}

@test "a command that ended says how" {
	plays "completed"
}

@test "several commands are refused whatever runs, and nothing of them is done" {
	plays "several commands"
}

@test "the hard time-out is told with its seconds as a float, and ends nothing" {
	plays "hard time-out"
}

@test "the soft time-out counts from the last output, and blocking has none" {
	plays "soft time-out" -e NO_CHANGE_TIMEOUT_SECONDS=0.5
}

@test "when both time-outs may pass the earlier one does" {
	plays "the earlier time-out" -e NO_CHANGE_TIMEOUT_SECONDS=0.5
}

@test "output puts off no hard time-out" {
	plays "output without an end" -e NO_CHANGE_TIMEOUT_SECONDS=1000
}

@test "while a command runs another is not executed, and its text says what can be done" {
	plays "busy"
}

@test "a key with Control is sent with and without is_input, and said when it ended the command" {
	plays "control keys"
}

@test "the other keys are sent by their names, without Enter" {
	plays "named keys"
}

@test "the arrows are what a program asked for" {
	plays "application keys"
}

@test "input is typed without outer blanks, of several lines too, and its echo is no content" {
	plays "input"
}

@test "the end of a command while no action waits is reported to the next action that asks" {
	plays "ended unseen, then nothing"
}

@test "the end of a command while no action waits is shown beside the output of a new command" {
	plays "ended unseen, then a command"
}

@test "input for what has ended is not typed, and it is said" {
	plays "ended unseen, then input"
}

@test "a key for what has ended is not sent, and it is said" {
	plays "ended unseen, then a key"
}

@test "several commands do not take away what was not seen" {
	plays "ended unseen, then several commands"
}

@test "NO_CHANGE_TIMEOUT_SECONDS of the environment inside is the soft time-out" {
	echo NO_CHANGE_TIMEOUT_SECONDS=1 >env
	give env
	plays "one second" --env-file "$T/env"
	NO_CHANGE_TIMEOUT_SECONDS=1 plays "one second" -e NO_CHANGE_TIMEOUT_SECONDS
	# The last setting counts.
	plays "one second" --env-file "$T/env" -e NO_CHANGE_TIMEOUT_SECONDS=30 -e NO_CHANGE_TIMEOUT_SECONDS=1
}
