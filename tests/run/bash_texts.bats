#!/usr/bin/env bats
# Tests that the parser behind rules sees the commands that bash runs: texts that are generated
# from bash's grammar are parsed, and run by bash itself (docs/bash-subset.md).

load helpers

# texts COUNT: prints COUNT random texts that are generated from the grammar of bash.
texts() {
	local seed=${SEED:-1}
	echo "# SEED=$seed" >&2
	python3 "$here/bash_texts.py" generate "$seed" "$1"
}

@test "each program that bash executes for a text is found, or the text is asked about" {
	texts "${TEXTS:-200}" >texts
	as_who python3 "$here/bash_texts.py" run "$HUTCH" "$(tool commands_of)" "$BUILD/tests/run/preload/no_exec.so" bash <texts
}

@test "each program that dash executes for a text is found, or the text is asked about" {
	texts $((10 * ${TEXTS:-200})) >texts # bash reads most of them otherwise
	as_who python3 "$here/bash_texts.py" run "$HUTCH" "$(tool commands_of)" "$BUILD/tests/run/preload/no_exec.so" dash <texts
}

@test "texts of attackers hide no program" {
	python3 "$here/bash_texts.py" tried >texts
	as_who python3 "$here/bash_texts.py" run "$HUTCH" "$(tool commands_of)" "$BUILD/tests/run/preload/no_exec.so" bash <texts
}

@test "a text has the tree that bash prints" {
	texts "${TEXTS:-200}" >texts
	python3 "$here/bash_texts.py" print "$(tool commands_of)" <texts
}
