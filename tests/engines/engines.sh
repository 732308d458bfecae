# engines.sh: the functions that the run.sh of each engine shares; it is sourced.
#
# A run.sh prints TAP.  A line of it has "N ok, N skipped, N not" of a foreign suite, which is the
# figure that README.md and counts.tsv have.  Each build is kept in $cache under its name and version,
# so a second run builds nothing and downloads nothing.

if [ "$(id -u)" = 0 ]; then
	cache=/var/cache/hutch-tests
	# The ordinary user reads the same PATH, so no folder below root's home may be in it.
	PATH=$(tr : '\n' <<<"$PATH" | grep -v "^$HOME/" | paste -sd :)
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/hutch-tests
fi
engines=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${LOGS:-$(cd "$engines/../.." && pwd)/build/engines}
mkdir -p "$logs"
runc_version=1.5.3
. "$engines/../patience.bash"
export PATIENCE
count=0 failed=0
# Counts of version 2, where cases that need controllers run, have lines of their own in counts.tsv,
# and so have those of version 1 with all controllers of Debian's kernel, which few machines have.
on=
[ ! -e /sys/fs/cgroup/cgroup.controllers ] || on=", cgroup v2"
[ ! -e /sys/fs/cgroup/net_cls/tasks ] || [ ! -e /sys/fs/cgroup/hugetlb/tasks ] || on=", cgroup v1"

# check NAME COMMAND...: one line of TAP.  The output of a command that fails follows as comments.
check() {
	local name=$1 output
	shift
	count=$((count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		[ -z "$output" ] || tail -n 12 <<<"$output" | cut -c1-300 | sed 's/^/#   /'
		failed=1
	fi
}

# give_up REASON: ends the test because something that it needs is missing.
give_up() {
	echo "not ok $((count + 1)) - $1"
	echo "1..$((count + 1))"
	exit 1
}

needs_root() {
	[ "$(id -u)" = 0 ] || give_up "this engine needs root: run make engines-test as root"
}

# needs PROGRAM PACKAGE: names the package of a program that is missing.
needs() {
	command -v "$1" >/dev/null || give_up "$1 is not installed: apt-get install $2"
}

# needs_go: Kubernetes 1.37 asks for Go 1.26; a Go from 1.21 on fetches the one that a go.mod asks
# for from the module proxy.
needs_go() {
	local version
	version=$(go env GOVERSION 2>/dev/null)
	[[ $version =~ ^go1\.([0-9]+) && ${BASH_REMATCH[1]} -ge 21 ]] ||
		give_up "Go 1.21 or newer is not installed: put it into PATH"
	export GOCACHE=$cache/go/build GOMODCACHE=$cache/go/mod GOFLAGS=-mod=mod CGO_ENABLED=0
}

# cached NAME COMMAND...: makes the folder $cache/NAME once.  COMMAND gets a new folder as its last
# argument, and the folder gets its name only if COMMAND succeeds.  Two runs at once wait for
# each other.  The log stays beside the folder.
cached() {
	local name=$1
	shift
	[ -d "$cache/$name" ] && return
	mkdir -p "$cache" || return
	(
		flock 9 || exit
		[ -d "$cache/$name" ] && exit
		echo "# building $name; the log is $cache/$name.log"
		rm -rf "$cache/$name.part" && mkdir "$cache/$name.part" &&
			("$@" "$cache/$name.part") >"$cache/$name.log" 2>&1 </dev/null &&
			mv "$cache/$name.part" "$cache/$name"
	) 9>"$cache/$name.lock"
}

# debian_source NAME SUITE FOLDER: unpacks upstream's archive of the source package NAME of Debian's
# SUITE into FOLDER/source, without Debian's patches.  A list of sources of its own leaves this
# machine's as they are; the mirror is the one that this machine uses.
debian_source() {
	local name=$1 suite=$2 folder=$3 mirror
	# shellcheck disable=SC2016 # a format of apt-get
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
		grep -v security | head -n 1)
	[ -n "$mirror" ] || { echo "apt has no mirror of Debian in its sources"; return 1; }
	mkdir -p "$folder"/apt/{lists,cache}/partial "$folder"/{apt/parts,source} || return
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
		>"$folder/apt/sources.list"
	local apt=(apt-get -q -o "Dir::Etc::SourceList=$folder/apt/sources.list"
		-o "Dir::Etc::SourceParts=$folder/apt/parts" -o "Dir::State::Lists=$folder/apt/lists"
		-o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)
	(cd "$folder/apt" && "${apt[@]}" update && "${apt[@]}" --tar-only source "$name") &&
		tar -C "$folder/source" --strip-components 1 -xf "$folder/apt/${name}_"*.orig.tar.* &&
		rm -r "$folder/apt"
}

# is_kept NAME: whether that build was made before, so that nothing of what makes it is needed.
is_kept() {
	[ -d "$cache/$1" ]
}

# built NAME: ends the script with BUILD_ONLY=1, and tells where the build is kept.
built() {
	[ -z "${BUILD_ONLY:-}" ] || { echo "# kept in $cache/$1"; exit 0; }
}

# as_user COMMAND...: runs the command as the ordinary user hutch-test if root started this test,
# with that user's home and runtime folder; else as the user who did.
as_user() {
	local id home run=$work/run
	if [ "$(id -u)" != 0 ]; then
		"$@"
		return
	fi
	id -u hutch-test >/dev/null 2>&1 || useradd --create-home hutch-test || return
	id=$(id -u hutch-test)
	home=$(getent passwd hutch-test | cut -d: -f6)
	mkdir -p "$run" && chown "$id" "$run" && chmod 700 "$run" || return
	setpriv --reuid "$id" --regid "$(id -g hutch-test)" --init-groups --reset-env \
		env PATH="$PATH" HOME="$home" USER=hutch-test LOGNAME=hutch-test LANG=C.UTF-8 \
		XDG_RUNTIME_DIR="$run" PATIENCE="$PATIENCE" ${STORAGE_DRIVER:+STORAGE_DRIVER="$STORAGE_DRIVER"} "$@"
}

# work_new: makes the folder $work, which the ordinary user may read; it goes with the script.
work_new() {
	work=$(mktemp -d /var/tmp/hutch-engines.XXXXXX) && chmod 755 "$work" || exit
	trap 'work_end' EXIT
	trap 'exit 143' HUP INT TERM
}

work_end() {
	rm -rf --one-file-system "$work"
}

# tally FILE: prints "N ok, N skipped, N not" of the TAP in FILE.  Tests that were planned and never
# came are not ok, and so is the end of a suite before its plan.
tally() {
	awk '/^[ \t]*ok .*# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok / { ok++ }
		/^not ok / { failed++ }
		/^1\.\.[0-9]+/ { planned += substr($1, 4); has_plan = 1 }
		END {
			seen = ok + skipped + failed
			if (!has_plan || planned > seen)
				failed += has_plan ? planned - seen : 1
			printf "%d ok, %d skipped, %d not\n", ok, skipped, failed
		}' "$1"
}

# least SUITE PROGRAM: the number in counts.tsv of this suite and this program.
least() {
	awk -F'\t' -v suite="$1" -v program="$2" '$1 == suite && $2 == program { print $3 }' "$engines/counts.tsv"
}

# counted SUITE PROGRAM "N ok, N skipped, N not": one line of TAP: whether as many are ok as
# counts.tsv says of this suite and this program.  A line of this machine's version of cgroups
# comes first.  A program that has no line there only gets its count.
counted() {
	local suite=$1 program=$2 counts=$3 least
	least=$(least "$suite$on" "$program")
	[ -n "$least" ] || least=$(least "$suite" "$program")
	check "$suite$on, $program: $counts${least:+ (at least $least ok)}" [ "${counts%% *}" -ge "${least:-0}" ]
}

plan() {
	echo "1..$count"
	exit $failed
}

# program_path NAME: the absolute path of a program, as itself and not of what it is a link to.
program_path() {
	local path
	path=$(command -v "$1") && realpath -s "$path"
}

# program_name PATH: the name of a program in counts.tsv: its file's name and the version that it
# prints, as in "runc 1.1.5".
program_name() {
	local version
	version=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -n 1)
	echo "$(basename "$1")${version:+ $version}"
}

# hierarchies: a line for each mounted hierarchy of cgroups of version 1: its mount point and the
# options that name it.
hierarchies() {
	awk '$3 == "cgroup" {
		names = $2 ~ /systemd/ ? "none" : ""
		n = split($4, options, ",")
		for (i = 1; i <= n; i++)
			if (options[i] !~ /^(rw|ro|relatime|nosuid|nodev|noexec|xattr|clone_children|release_agent=.*)$/)
				names = names (names == "" ? "" : ",") options[i]
		print $2, names
	}' /proc/mounts
}

# apart COMMAND...: runs the command as root with processes, mounts, /run and cgroups of its own, so
# that containers which a suite leaves behind end with it.  cgroups(7) lets a namespace mount only
# those below its own, which are removed at the end.  Where the unified hierarchy stands beside
# version 1, it is hidden: crun takes both together for version 2.
apart() {
	local group=engines-$BASHPID path code
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		apart_unified "/sys/fs/cgroup/$group" "$@"
		return
	fi
	while read -r path _; do
		mkdir "$path/$group" || return
		# A new cpuset has no processors, and none of those below it (cgroup-v1/cpusets.rst).
		[ ! -e "$path/cpuset.cpus" ] || { cat "$path/cpuset.cpus" >"$path/$group/cpuset.cpus" &&
			cat "$path/cpuset.mems" >"$path/$group/cpuset.mems" &&
			echo 1 >"$path/$group/cgroup.clone_children"; } || return
	done < <(hierarchies)
	export -f hierarchies apart_join apart_inside
	bash -c 'apart_join "$@"' - "$group" "$@"
	code=$?
	while read -r path _; do
		find "$path/$group" -depth -type d -exec rmdir {} +
	done < <(hierarchies)
	return $code
}

# apart_unified GROUP COMMAND...: the same where version 2 has all controllers.  The root of the
# namespace is the new cgroup, and the command begins in one below it: a cgroup that has processes
# cannot give controllers to those below it (cgroups(7), "no internal processes").
apart_unified() {
	local group=$1 code
	mkdir -p "$group/suite" && delegate /sys/fs/cgroup || return
	export -f apart_enter apart_start apart_inside delegate hierarchies
	bash -c 'apart_enter "$@"' - "$@"
	code=$?
	# All processes have ended with the first of their pid namespace (pid_namespaces(7)).
	find "$group" -depth -type d -exec rmdir {} +
	return $code
}

apart_enter() {
	echo $$ >"$1/cgroup.procs" && exec unshare --cgroup bash -c 'apart_start "$@"' - "$@"
}

apart_start() {
	echo $$ >"$1/suite/cgroup.procs" && delegate "$1" || exit
	shift
	exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
		bash -c 'apart_inside "$@"; exit' - "$@"
}

# delegate GROUP: gives the controllers of a cgroup to those below it.
delegate() {
	sed 's/[^ ]\+/+&/g' "$1/cgroup.controllers" >"$1/cgroup.subtree_control"
}

apart_join() {
	local group=$1 path
	shift
	while read -r path _; do
		echo $$ >"$path/$group/cgroup.procs" || exit
	done < <(hierarchies)
	exec setpriv --pdeathsig KILL unshare --cgroup --mount --pid --fork --kill-child --mount-proc \
		bash -c 'apart_inside "$@"; exit' - "$@"
}

# Frozen processes are thawed at the end, since a freezer of version 1 holds back even SIGKILL
# (cgroup-v1/freezer-subsystem.rst).
apart_inside() {
	local path options code found links to
	mount -t tmpfs -o mode=755 tmpfs /run || return
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		# nsdelegate is an option of the first mount, which systemd makes (cgroup-v2.rst).
		umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && "$@"
		return
	fi
	# The folder of a hidden hierarchy must not remain: crun makes cgroups in it, and systemd has it read-only.
	found=$(hierarchies) links=$(find /sys/fs/cgroup -maxdepth 1 -type l -printf '%l %p\n')
	umount --recursive --lazy /sys/fs/cgroup && mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup || return
	while read -r path options; do
		mkdir "$path" && mount -t cgroup -o "$options" cgroup "$path" || return
	done <<<"$found"
	while read -r to path; do
		[ -z "$path" ] || ln -s "$to" "$path" || return
	done <<<"$links"
	"$@"
	code=$?
	find /sys/fs/cgroup/freezer -mindepth 2 -name freezer.state 2>/dev/null | while read -r path; do
		echo THAWED >"$path"
	done
	return $code
}

# runc_new FOLDER: builds the newest runc that the tests know, since Debian 12's crun refuses the
# version of the specification that newer engines send.
runc_new() {
	mkdir "$1/source" && cd "$1/source" || return
	printf 'module engines\n' >go.mod
	printf 'package engines\nimport _ "github.com/opencontainers/runc"\n' >tools.go
	go get "github.com/opencontainers/runc@v$runc_version" && go mod tidy &&
		CGO_ENABLED=1 nice -n 19 go build -p 2 -tags seccomp \
			-ldflags "-s -w -X main.version=$runc_version" -o "$1/runc" github.com/opencontainers/runc
}

# references: prints the runtimes to test: RUNTIME, or crun, runc, and the newest runc.
references() {
	if [ -n "${RUNTIME:-}" ]; then
		echo "$RUNTIME"
	else
		(needs_go && cached "runc-$runc_version" runc_new) >&2
		echo crun runc "$cache/runc-$runc_version/runc"
	fi
}
