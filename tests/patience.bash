# The one constant that bounds deadlocks in tests, in seconds: see patience.h.
# Read without starting a process, since each test sources this file.
# shellcheck shell=bash disable=SC2034 # for the files that source this
PATIENCE=''
while read -r _ name value; do
	[[ $name != PATIENCE_S ]] || PATIENCE=$value
done <"${BASH_SOURCE[0]%.bash}.h"
