#!/bin/bash
# run.sh: the validation of a runtime by the Open Container Initiative, which its runtime-tools have.
#
#	RUNTIME=/path/to/a/runtime PROGRAMS='linux_cgroups* start' tests/engines/runtime-tools/run.sh
#
# PROGRAMS (default: all) is a list of patterns of names of programs.
# RUNTIME (default: crun, then runc) is the program to test.  A program of the
# validation without a failure is clean, and clean programs count as ok; their assertions are counted apart.  Runs as
# root.  Prints TAP; the whole output is kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"
version=0.9.0

build() {
	local module=github.com/opencontainers/runtime-tools tools
	mkdir "$1/source" "$1/validation" && cd "$1/source" || return
	# The specification of that time: a newer one has other types.
	go mod init engines && go get "$module@v$version" github.com/opencontainers/selinux@v1.11.0 \
		github.com/opencontainers/runtime-spec@v1.0.2 || return
	tools=$(go list -m -f '{{.Dir}}' "$module") || return
	for folder in "$tools"/validation/*/; do
		name=$(basename "$folder")
		[ "$name" = util ] || echo "import _ \"$module/validation/$name\""
	done >imports
	{ echo "package engines"; echo "import _ \"$module/cmd/runtimetest\""; cat imports; } >tools.go
	go mod tidy && go build -o "$1/runtimetest" "$module/cmd/runtimetest" || return
	while read -r _ _ path; do
		path=${path//\"/}
		nice -n 19 go build -p 2 -o "$1/validation/$(basename "$path").t" "$path" || return
	done <imports
	cp "$tools/rootfs-amd64.tar.gz" "$1"
}

# is_clean LOG: whether a program succeeded, and all its assertions.  A program with the plan "1..0"
# has no assertions, and tells of a failure by a diagnostic alone.
is_clean() {
	[ "$(cat "$1.code")" = 0 ] && ! grep -q '^not ok ' "$1" &&
		! { grep -q '^1\.\.0' "$1" && grep -q '"error":' "$1"; }
}

# reason LOG: the first sign of a failure in the output of a program, or else the error of the runtime.
reason() {
	awk -v code="$(cat "$1.code")" '
		/^not ok / && !/exit status/ { said = $0; exit }
		/"error":/ && said == "" { sub(/.*"error": */, ""); said = $0 }
		after && error == "" { error = $0 }
		{ after = /^failed to create the container/ }
		END { print substr(said != "" ? said : error != "" ? error : "its exit code is " code, 1, 200) }
	' "$1" "$1.err"
}

programs() {
	local pattern patterns
	read -ra patterns <<<"${PROGRAMS:-*}"
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2086 # a pattern
		ls "$tests"/validation/$pattern.t
	done
}

validate() {
	local name log folder
	runtime=$(program_path "$1") || give_up "$1 is not installed"
	name=$(program_name "$runtime")
	folder=$logs/runtime-tools-$name
	rm -rf "$folder" && mkdir -p "$folder"
	for program in $(programs); do
		log=$folder/$(basename "$program" .t).log
		# The programs look for the root file system and for runtimetest in their folder.
		(cd "$tests" && apart env RUNTIME="$runtime" TMPDIR="$work" timeout 120 "$program") \
			>"$log" 2>"$log.err" </dev/null
		echo $? >"$log.code"
		if is_clean "$log"; then
			echo "ok - $(basename "$program" .t)"
		else
			echo "not ok - $(basename "$program" .t)"
		fi
	done >"$folder.tap"
	echo "1..$(wc -l <"$folder.tap")" >>"$folder.tap"
	cat "$folder"/*.log >"$folder.assertions"
	counted "runtime-tools $version programs" "$name" "$(tally "$folder.tap")"
	counted "runtime-tools $version assertions" "$name" \
		"$(grep -c '^ok ' "$folder.assertions") ok, $(grep -c '^ok .*# *SKIP' "$folder.assertions") skipped, $(grep -c '^not ok ' "$folder.assertions") not"
	echo "# $name, not clean:"
	sed -n 's/^not ok - //p' "$folder.tap" | while read -r program; do
		echo "#   $program: $(reason "$folder/$program.log")"
	done
}

needs_root
is_kept "runtime-tools-$version" || needs_go
cached "runtime-tools-$version" build || give_up "runtime-tools could not be built: see $cache/runtime-tools-$version.log"
built "runtime-tools-$version"
work_new
tests=$cache/runtime-tools-$version
for program in ${RUNTIME:-crun runc}; do
	validate "$program"
done
plan
