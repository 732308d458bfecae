#!/usr/bin/env bats
# Tests of docs/from-openhands.md: the options that it names exist, and a missing feature is
# answered as it says.

load helpers

setup() {
	begin
	page=$top/docs/from-openhands.md
}

teardown() {
	remove_boxes
	end
}

# block MARK: prints the code blocks of the page that follow <!-- MARK -->.
block() {
	awk -v mark="<!-- $1 -->" '
		$0 == mark { marked = 1; next }
		marked && /^```/ { inside = !inside; if (!inside) marked = 0; next }
		inside' "$page"
}

@test "every long flag that the page names is one of a verb's" {
	for verb in $("$HUTCH" help | grep -oE '^  [a-z]+ '); do
		"$HUTCH" help "$verb"
	done >helps
	for verb in pull build runtime-build; do
		"$HUTCH" image "$verb" --help
	done >>helps
	grep -oE -- '--[a-z][a-z-]+' helps | sort -u >flags
	# Collects the flags that the page has in backticks, except those of git commands.
	grep -oE '`[^`]+`' "$page" | grep -v '^`git ' | grep -oE -- '(^|[ `])--[a-z][a-z-]+' | tr -d ' `' |
		sort -u >named
	[ "$(wc -l <named)" -gt 20 ]
	[ -z "$(comm -23 named flags)" ]
}

@test "every limit and every other key of a policy that the page names is one" {
	grep -oE 'limits\.[a-z_]+' "$page" | sort -u >named
	[ "$(wc -l <named)" -gt 4 ]
	while read -r key; do
		grep -q "\\b$key\\b" "$top/docs/hutch-policy.md"
	done <named
	block 'file box.json' >box.json
	mkdir project
	"$HUTCH" policy check ./box.json
}

@test "a feature that is missing is answered as the page says" {
	for name in run_ipython:code browse:url browse_interactive:browser_actions; do
		echo "{\"action\":\"${name%:*}\",\"args\":{\"${name#*:}\":\"x\"}}"
	done | "$HUTCH" act >out
	[ "$(wc -l <out)" -eq 3 ]
	while read -r observation; do
		text=$(cut -d'"' -f8 <<<"$observation")
		[ -n "$text" ]
		grep -qF "\`$text\`" "$page"
	done <out
	"$HUTCH" act <<<'{"action":"call_tool_mcp","args":{"name":"x"}}' | grep -qF 'HUTCH$BAD_ACTION'
}
