#!/usr/bin/env bats
# Tests of the plans without walls of hutch's own (sandbox/raw/raw_plan.h).

load helpers

@test "no program but hutch-bwrap and hutch-oci can do such a plan" {
	local program
	for program in "$BUILD/hutch" "$BUILD"/libexec/hutch-*; do
		# a sentence of raw_mounts.c
		case ${program##*/} in
		hutch-bwrap) grep -qF "part the mounts from the host's" "$program" ;;
		hutch-oci) ;;
		*) never grep -qF "part the mounts from the host's" "$program" ;;
		esac
	done
}
