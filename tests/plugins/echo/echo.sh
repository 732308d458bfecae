# echo.sh -- a plugin in bash: says what it was asked.  With "raw" it writes that line as it
# is, for tests of the contract.
echo '{"ready":true}'
count=0
while read -r line; do
	call=$(jq -r '.call // empty' <<<"$line")
	[ -n "$call" ] || { other=$line; continue; }
	raw=$(jq -r '.args.raw // empty' <<<"$line")
	[ -z "$raw" ] || { printf '%s\n' "${raw//CALL/$call}"; continue; }
	[ "$(jq -r .args.sleep <<<"$line")" != true ] || continue
	count=$((count + 1))
	jq -c --arg other "${other:-}" --argjson count "$count" '{call, answer: {content: .args.text, cwd, count: $count,
		is_it: true, words: ["a", "b"]}, data: {other: $other}, note: "from bash"}' <<<"$line"
done
