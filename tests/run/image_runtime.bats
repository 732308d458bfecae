#!/usr/bin/env bats
# Tests of hutch image runtime-build: it reuses the most specific of the three tags that exists,
# and so does as little work as possible.

load helpers
load busybox

setup() {
	begin
	own_store
	needs_static
	busybox_image
	mkdir -p project/openhands/sub project/skills
	echo 1 >project/openhands/sub/code.py
	echo skill >project/skills/s.md
	printf '[tool.poetry]\nversion = "0.62.0"\n' >project/pyproject.toml
	echo lock >project/poetry.lock
	repo=ghcr.io/openhands/runtime
}

teardown() {
	end
}

# runtime [FLAG...]: builds a runtime image with setup commands that need no network and append a
# line to /did when they run.
runtime() {
	catch "$HUTCH" image runtime-build --base bb:1 --setup 'echo setup >>/did' \
		--install 'echo install $(cat /openhands/code/poetry.lock) >>/did' "$@" project
}

# did: prints the setup commands that have run in any build of the last image, and the sources in
# it.
did() {
	inside --image "${lines[-1]}" -- sh -c 'cat /did; cat /openhands/code/openhands/sub/code.py'
}

# exists TAG: checks that the store has an image with that tag.
exists() {
	"$HUTCH" image exists "$repo:$1"
}

@test "from scratch: all is done, and the image gets its three tags" {
	runtime
	[ "$status" = 0 ]
	[[ $output =~ ^$repo:oh_v0.62.0_[0-9a-z]{16}_[0-9a-z]{16}$ ]]
	[[ $stderr == *"from scratch"* ]]
	exists oh_v0.62.0_bb_t_1
	exists "$(sed 's/.*://; s/_[^_]*$//' <<<"$output")"
	did
	[ "$output" = $'setup\ninstall lock\n1' ]
}

@test "the same sources are not built again" {
	runtime
	first=$output
	runtime
	[[ $output == "$first" && $stderr == "hutch: $first is there" ]]
	[ "$("$HUTCH" image ls | grep -c "^$repo ")" = 3 ]
}

@test "other sources, the same dependencies: upon the lock tag" {
	runtime
	first=$output
	echo 2 >project/openhands/sub/code.py
	rm project/skills/s.md && echo other >project/skills/t.md
	runtime
	[[ $stderr == *"from lock"* && $output != "$first" && ${output%_*} == "${first%_*}" ]]
	source=$output
	did
	[ "$output" = $'setup\ninstall lock\n2' ]
	inside --image "$source" -- ls /openhands/code/skills
	[ "$output" = t.md ]
	# The lock tag still names the first image, and not the new one.
	[ "$("$HUTCH" image inspect "${first%_*}" | grep -o '"digest":"[^"]*"')" = \
		"$("$HUTCH" image inspect "$first" | grep -o '"digest":"[^"]*"')" ]
}

@test "other dependencies: upon the versioned tag" {
	runtime
	first=$output
	echo other >project/poetry.lock
	runtime
	[[ $stderr == *"from versioned"* && ${output%_*} != "${first%_*}" ]]
	"$HUTCH" image exists "${output%_*}"
	did
	[ "$output" = $'setup\ninstall lock\ninstall other\n1' ]
}

@test "extra dependencies are run last, and --force does everything anew" {
	runtime --extra-deps 'echo extra >>/did'
	did
	[ "$output" = $'setup\ninstall lock\nextra\n1' ]
	runtime --force
	[[ $stderr == *"from scratch"* ]]
	did
	[ "$output" = $'setup\ninstall lock\n1' ]
}

@test "a dry run says which build it would be, and builds nothing" {
	runtime --dry-run
	[[ ${lines[0]} == "source $repo:oh_v"* && ${lines[3]} == "build scratch" ]]
	[[ ${lines[4]} == "FROM bb:1" ]]
	[ "$("$HUTCH" image ls -q | wc -l)" = 1 ]
	OH_RUNTIME_RUNTIME_IMAGE_REPO=local/rt runtime --dry-run --oh-version 1.2
	[[ ${lines[0]} == "source local/rt:oh_v1.2_"* ]]
	rm project/poetry.lock
	runtime --dry-run
	one_sentence 'open project/poetry.lock: No such file'
}
