#!/usr/bin/env bats
# Types the examples of README.md and docs/ as an ordinary user, and compares what they print with
# what the page says (typed.py).

load helpers

# typed PAGE...: types the examples of these pages.
typed() {
	catch as_who "$here/typed.py" "$HUTCH" "$@"
}

# The counts are bounds, so that examples cannot silently be left out.
@test "every example of README and of each page prints what the page says" {
	typed "$top/README.md" "$top"/docs/*.md
	[ "$status" -eq 0 ]
	[[ $output =~ ^([0-9]+)' typed, '([0-9]+)' tried with --dry-run, '([0-9]+)' not compared, '([0-9]+)' not typed,' ]]
	((BASH_REMATCH[1] + BASH_REMATCH[2] >= 90))
	((BASH_REMATCH[2] <= 5))
	((BASH_REMATCH[3] <= 2))
	((BASH_REMATCH[4] <= 3))
}

# Programs of PyPI and their vendors' models are tried by tests/clients; here npm installs programs of
# the tests' own.
@test "every line of a recipe that needs no account and no network does what it says" {
	typed "$top"/docs/recipes/*.md
	[ "$status" -eq 0 ]
	[[ $output =~ ^([0-9]+)' typed, 0 tried with --dry-run, '([0-9]+)' not compared, '([0-9]+)' not typed, 0 untrue'$ ]]
	((BASH_REMATCH[1] + BASH_REMATCH[2] >= 12))
	((BASH_REMATCH[3] <= 29))
}

# page: makes a page of stdin, in which fences are written as ~~~.
page() {
	sed 's/^~~~/```/' >page.md
}

@test "an example that prints something else, more, or less, is noticed" {
	page <<-'PAGE'
		~~~
		$ echo one
		two
		~~~

		~~~
		$ echo one; echo two
		one
		~~~

		~~~
		$ echo one
		one
		two
		~~~
	PAGE
	typed page.md
	[ "$status" -eq 1 ]
	[ "$output" = "3 typed, 0 tried with --dry-run, 0 not compared, 0 not typed, 3 untrue" ]
	[ "${stderr_lines[0]}" = 'page.md:2: echo one' ]
	[ "${stderr_lines[1]}" = 'the page: two' ]
	[ "${stderr_lines[2]}" = ' printed: one' ]
}

@test "a command that shows nothing and fails is noticed, and a flag that is none" {
	page <<-'PAGE'
		~~~
		$ exit 3
		~~~

		<!-- not compared: it varies -->
		~~~
		$ hutch run --no-such-flag -- true
		~~~
	PAGE
	typed page.md
	[ "$status" -eq 1 ]
	[[ $output == *' 2 untrue' ]]
	[[ $stderr == *'it ended with 3'*'--no-such-flag'* ]]
}

@test "a name that hutch gives is the same wherever the page has it" {
	page <<-'PAGE'
		~~~
		$ echo run-abcdef abcdef012345
		run-123456 000011112222
		$ echo run-123456
		run-123456
		~~~

		~~~
		$ echo run-abcdef
		run-123456
		$ echo run-fedcba
		run-123456
		~~~
	PAGE
	typed page.md
	[ "$status" -eq 1 ]
	[ "$output" = "4 typed, 0 tried with --dry-run, 0 not compared, 0 not typed, 1 untrue" ]
	[ "${stderr_lines[0]}" = 'page.md:11: echo run-fedcba' ]
}

@test "an example has a home of its own, unless it goes on with the one before" {
	page <<-'PAGE'
		<!-- file text -->
		~~~
		some words
		~~~

		<!-- first: touch new -->
		~~~
		$ cat text
		some words
		$ cat >~/typed
		a line
		$ ls new ~/typed
		/home/ada/typed
		new
		~~~

		<!-- goes on -->
		~~~
		$ ls ~/typed
		/home/ada/typed
		~~~

		~~~
		$ ls ~/typed
		ls: cannot access '/home/ada/typed': No such file or directory
		~~~
	PAGE
	typed page.md
	[ "$status" -eq 0 ]
	[[ $output == '5 typed, '* ]]
}
