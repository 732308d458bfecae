# Makes a page of one verb from a page of several, for man.awk: the verb's section, its lines of
# the synopsis, and the sections that the page has for all verbs.
#
#	awk -v verb=exec -v page=hutch-sandboxes -f docs/verb.awk docs/hutch-sandboxes.md

# Prints the first sentence of the section, or the part of it before a colon, as people read it
# in the lists of apropos(1).
function name_line(text,    end) {
	end = match(text, /[.:]( |$)/)
	text = end ? substr(text, 1, end - 1) : text
	gsub(/[`*]/, "", text)
	printf "hutch-%s - %s%s\n", verb, tolower(substr(text, 1, 1)), substr(text, 2)
}

/^## /                      { section = substr($0, 4) }
section == "Synopsis" && /^\*\*hutch / {
	if (index($0, "hutch " verb "**") || index($0, "| **" verb "**")) {
		sub(/^\*\*hutch [a-z]+\*\*( \| \*\*[a-z]+\*\*)*/, "**hutch " verb "**")
		synopsis = synopsis "\n" $0 "\n"
	}
}
section == verb && !/^## /  {
	first = first (is_past ? "" : $0 " ")
	is_past = is_past || (first ~ /[^ ]/ && $0 == "")
	body = body (/^###/ && !options++ ? "## Options\n\n" : "") $0 "\n"
}
section == "Exit codes" {
	if (!/^(- |## |$)/ && codes !~ /\n\n$/) {
		sub(/^ */, " ")
		sub(/\n$/, "", codes)
	}
	codes = codes $0 "\n"
}
section == "See also" && !/^## / && NF { see = see $0 "\n" }

# Prints the exit codes without those of other verbs. A line is about some verbs alone from
# their names on.
function print_codes(codes,    lines, count, i, about) {
	count = split(codes, lines, "\n")
	for (i = 1; i < count; i++) {
		about = match(lines[i], /`exec` and `shell`/)
		if (about && verb ~ /^(exec|shell)$/)
			sub(/`exec` and `shell`: /, "", lines[i])
		else if (about && lines[i] ~ /^- [^`]*; `/)
			lines[i] = substr(lines[i], 1, about - 3)
		else if (about)
			continue
		print lines[i]
	}
}

END {
	sub(/^ +/, "", first)
	printf "# hutch %s\n\n## Name\n\n", verb
	name_line(first)
	printf "\n## Synopsis\n%s\n## Description\n%s", synopsis, body
	print_codes(codes)
	printf "\n## See also\n\n%s(1), %s", page, see
}
