#!/usr/bin/env bats
# Tests of the observations of a session, of the editor and of file actions; session_rows.py has
# rows of an action and its expected observation: each rule of OpenHands that clients depend on,
# and none of its known defects.

load helpers

# plays NAME [OPTION...]: plays the sequence NAME of session_rows.py.
plays() {
	"$here/session_rows.py" "$HUTCH" "$@"
}

@test "output of commands comes as a person sees it" {
	plays "output"
}

@test "which texts are several commands, and which are one" {
	plays "several"
}

@test "defect 1: a command of 5,000 characters has its output" {
	plays "defect 1"
}

@test "defect 2: a command of 16 KiB, 128 KiB and 1 MiB is executed" {
	plays "defect 2"
}

@test "defect 3: exit, set -e and exec end no session" {
	plays "defect 3"
}

@test "defect 4: an exclamation mark is no history" {
	plays "defect 4"
}

@test "defect 5: what find -exec runs is not in the content, nor escaped" {
	plays "defect 5"
}

@test "defect 6: tabs of a command stay" {
	plays "defect 6"
}

@test "defect 7: clear is no truncation" {
	plays "defect 7"
}

@test "defect 8: C-c needs no is_input" {
	plays "defect 8"
}

@test "defect 9: no exit code is the one before" {
	plays "defect 9"
}

@test "defect 10: neither marks nor prompts confuse it" {
	plays "defect 10"
}

@test "clients: a server is started, stopped by C-c, and started again" {
	plays "a server"
}

@test "clients: a server in the background is asked and killed" {
	plays "a server in the background"
}

@test "clients: commands of several lines, and several commands" {
	plays "several lines"
}

@test "clients: files, folders, where one is, and what is not there" {
	plays "files and folders"
}

@test "clients: git" {
	plays "git"
}

@test "clients: a question, its answer, and a here-document" {
	plays "a question" -e NO_CHANGE_TIMEOUT_SECONDS=1
}

@test "clients: of long output both ends are there" {
	plays "long output"
}

@test "clients: pipes, questions, floods, refusals and C-c, again and again" {
	plays "output and time-outs"
}

@test "C-c ends a flood every time, of one program and of a loop of programs" {
	plays "C-c in a flood"
}

@test "a SIGINT in the middle of a report costs no report" {
	plays "a SIGINT in a report"
}

@test "a shell that a command begins, or becomes, is driven on" {
	plays "shells in it"
}

@test "a shell of another user than hutch's is driven on, too" {
	needs_range
	plays "shells in it" --idmap ranges
}

@test "CRLF in a command is a newline, in its here-documents and in its input too" {
	plays "newlines"
}

@test "history has what was asked for, and nothing of ours" {
	plays "history"
}

@test "a trap on DEBUG sees no command of ours" {
	plays "a trap on DEBUG"
}

@test "clients: what is new comes once, however often one asks" {
	plays "one by one"
}

@test "clients: Python's input() is answered, and by input only" {
	plays "Python asks" -e NO_CHANGE_TIMEOUT_SECONDS=1
}

@test "clients: two owners of files, as root and agent" {
	needs_range
	plays "two owners" --idmap ranges -u root
}

@test "each answer of the editor, and each of its errors" {
	plays "editor"
}

@test "CRLF, a file's mode, undo after create, and a range of an empty file" {
	plays "editor's defects"
}

@test "each rule of reading and writing" {
	plays "files"
}
