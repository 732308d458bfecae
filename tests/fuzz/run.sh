#!/bin/sh
# run.sh FUZZER CORPUS RUNS SECONDS: runs the fuzzer, from its committed corpus,
# in a folder that is removed afterwards.  RUNS -1 and SECONDS 0 mean no limit;
# the corpus runs in any case.
set -eu
fuzzer=$1 corpus=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus" && cp "$corpus"/* "$work/corpus/"
cd "$work"
if "$fuzzer" -runs="$3" -max_total_time="$4" -rss_limit_mb=2048 -print_final_stats=1 corpus; then
	echo "ok 1 - nothing found"
else
	echo "not ok 1 - a crash, a leak or a hang"
fi
