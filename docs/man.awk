# Makes a page of docs/ fit for go-md2man: its first heading becomes the title line,
# sections get capitals, comments are dropped, and a table, for which no terminal is
# wide enough, becomes a list of terms.
#
#	awk -v name=hutch-run -v version=0.1.0 -f docs/man.awk docs/hutch-run.md

/^```/     { is_code = !is_code }
is_code    { print; next }
/^<!--/    { next }
/^# /      { printf "%% %s %d \"\" \"hutch %s\"\n", toupper(name), section ? section : 1, version; next }
/^## /     { print toupper($0); next }

!/^\|/     { row = 0; print; next }
++row <= 2 { next }
{
	gsub(/^\| *| *\|$/, "")
	bar = index($0, " | ")
	printf "%s\n: %s\n\n", substr($0, 1, bar - 1), substr($0, bar + 3)
}
