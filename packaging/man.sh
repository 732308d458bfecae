#!/bin/sh
# man.sh FOLDER VERSION: makes the manual pages of docs/ in FOLDER/man1 and FOLDER/man3.
# A page whose section Name has several names is found by each of them. A verb that has a section
# of its own there gets a page with that section: `man hutch-exec` shows what hutch-sandboxes(1)
# says of exec.
set -eu
folder=$1 version=$2
docs=$(dirname "$0")/../docs
mkdir -p "$folder/man1" "$folder/man3"

page() { # NAME SECTION: the text comes on stdin
	awk -v name="$1" -v section="$2" -v version="$version" -f "$docs/man.awk" |
		go-md2man >"$folder/man$2/$1.$2"
}

verb_page() { # NAME VERB
	if grep -q "^## $2\$" "$docs/$1.md"; then
		awk -v verb="$2" -v page="$1" -f "$docs/verb.awk" "$docs/$1.md" | page "hutch-$2" 1
	else
		echo ".so man1/$1.1" >"$folder/man1/hutch-$2.1"
	fi
}

names_of() { # NAME: prints the names of the page
	sed -n '/^## Name/,/^## Synopsis/p' "$docs/$1.md" | sed '1d; $d' | tr '\n' ' ' |
		sed 's/ - .*//' | tr -d ,
}

page libhutch 3 <"$docs/libhutch.md"
for file in "$docs"/hutch.md "$docs"/hutch-*.md; do
	name=$(basename "$file" .md)
	page "$name" 1 <"$file"
	for other in $(names_of "$name"); do
		[ "$other" = "$name" ] || verb_page "$name" "${other#hutch-}"
	done
done
