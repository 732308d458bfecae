#!/usr/bin/env bats
# Types wrong inputs, as newcomers do, and compares each answer with the one that people have read
# and found to teach (wrong_inputs.txt).

load helpers

teardown() {
	remove_boxes
	end
}

@test "each wrong input gets the answer that tells what is wrong and what to do" {
	room project
	echo text >file
	"$HUTCH" create box
	"$HUTCH" create gone
	"$HUTCH" stop gone
	"$here/wrong_inputs.py" "$HUTCH" "$here/wrong_inputs.txt"
}

@test "an answer that is another one, and an input without one, are reported" {
	printf '$ hutch rnu true\nhutch: nothing\n' >wrong
	run "$here/wrong_inputs.py" "$HUTCH" wrong
	[[ $status == 1 && $output == *"- hutch: nothing"* && $output == *"+ hutch: 'rnu' is"* ]]
	printf '$ hutch rnu true\n' >wrong
	run "$here/wrong_inputs.py" "$HUTCH" wrong
	[[ $status == 1 && $output == *"1 input"* ]]
	printf '$ hutch run true\n[0]\n' >wrong
	"$here/wrong_inputs.py" "$HUTCH" wrong
	"$here/wrong_inputs.py" "$HUTCH" wrong --record
	[[ $(<wrong) == $'$ hutch run true\n[0]' ]]
}
