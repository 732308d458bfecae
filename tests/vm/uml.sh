# shellcheck shell=bash disable=SC2154 # build and work: from the sourcing script
# Starts user-mode-linux, for run.sh and systemd.sh.

# uml SECONDS WORD...: runs a machine for at most that long; prints its output.
uml() {
	local seconds=$1 preload=
	shift
	! grep -qw amx_tile /proc/cpuinfo || preload=$build/tests/vm/xsave.so
	TMPDIR=$work timeout --kill-after=10 "$seconds" env LD_PRELOAD="$preload" linux.uml \
		mem=1024M rw con=null con0=fd:0,fd:1 loglevel=1 "$@" </dev/null 2>/dev/null | sed -u 's,\r,,'
}
