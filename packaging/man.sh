#!/bin/sh
# man.sh FOLDER VERSION: makes the manual pages of docs/ in FOLDER/man1 and FOLDER/man3.
# A page whose section Name has several names is found by each of them: `man hutch-exec`
# shows hutch-sandboxes(1).
set -eu
folder=$1 version=$2
docs=$(dirname "$0")/../docs
mkdir -p "$folder/man1" "$folder/man3"

page() { # NAME SECTION
	awk -v name="$1" -v section="$2" -v version="$version" -f "$docs/man.awk" "$docs/$1.md" |
		go-md2man >"$folder/man$2/$1.$2"
}

names_of() { # NAME: prints the names of the page
	sed -n '/^## Name/,/^## Synopsis/p' "$docs/$1.md" | sed '1d; $d' | tr '\n' ' ' |
		sed 's/ - .*//' | tr -d ,
}

page libhutch 3
for file in "$docs"/hutch.md "$docs"/hutch-*.md; do
	name=$(basename "$file" .md)
	page "$name" 1
	for other in $(names_of "$name"); do
		[ "$other" = "$name" ] || echo ".so man1/$name.1" >"$folder/man1/$other.1"
	done
done
