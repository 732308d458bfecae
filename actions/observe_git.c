#include "actions/observe_git.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "actions/observe.h"
#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"

/* The rest of a text that is read line by line; struct line is a line without its
 * newline. */
struct text {
	const char *at;
	size_t left;
};

struct line {
	const char *at;
	size_t len;
};

static bool next_line(struct text *t, struct line *ret)
{
	if (t->left == 0)
		return false;
	const char *end = memchr(t->at, '\n', t->left);
	size_t len = end ? (size_t)(end - t->at) : t->left;

	*ret = (struct line){ t->at, len };
	t->at += end ? len + 1 : len;
	t->left -= end ? len + 1 : len;
	return true;
}

/* Reads a decimal number. False: it has another byte, or not 1 to 12 digits. */
static bool get_number(const char *at, size_t len, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		number = 10 * number + (uint64_t)(at[i] - '0');
	}
	*ret = number;
	return len > 0 && len <= 12;
}

/* Splits a line in two at its first space. */
static bool split(const struct line *l, struct line *ret_first, struct line *ret_rest)
{
	const char *blank = l->len ? memchr(l->at, ' ', l->len) : NULL;

	if (!blank)
		return false;
	size_t len = (size_t)(blank - l->at);
	*ret_first = (struct line){ l->at, len };
	*ret_rest = (struct line){ blank + 1, l->len - len - 1 };
	return true;
}

/* Writes the line as a member of an object; null if there is no such line. */
static void put_line(struct buffer *to, const char *key, const struct line *l)
{
	if (l->at)
		json_write_bytes(to, key, l->at, l->len);
	else
		json_write_raw(to, key, "null");
}

/* --- the state of a repository ----------------------------------------------------- */

enum { BRANCH, COMMIT, UPSTREAM, TEXTS };
enum { AHEAD, BEHIND, NUMBERS };

static const char *const text_keys[TEXTS] = { "branch", "commit", "upstream" };
static const char *const number_keys[NUMBERS] = { "ahead", "behind" };

struct state {
	struct line texts[TEXTS]; /* `at` is NULL for a text that is absent */
	uint64_t numbers[NUMBERS];
	bool has[NUMBERS];
};

static int find(const char *const *keys, int count, const struct line *key)
{
	for (int i = 0; i < count; i++)
		if (strlen(keys[i]) == key->len && !memcmp(keys[i], key->at, key->len))
			return i;
	return -1;
}

static bool take_key(struct state *s, const struct line *l)
{
	struct line key, value;

	if (!split(l, &key, &value))
		return false;
	int text = find(text_keys, TEXTS, &key),
	    number = find(number_keys, NUMBERS, &key);
	if (text >= 0)
		s->texts[text] = value;
	if (number >= 0)
		s->has[number] = get_number(value.at, value.len, &s->numbers[number]);
	return text >= 0 || (number >= 0 && s->has[number]);
}

static void put_state(struct buffer *to, const struct state *s)
{
	json_write_open(to, "git", "{");
	for (int i = 0; i < TEXTS; i++)
		put_line(to, text_keys[i], &s->texts[i]);
	for (int i = 0; i < NUMBERS; i++)
		if (s->has[i])
			json_write_format(to, number_keys[i], "%llu",
					  (unsigned long long)s->numbers[i]);
		else
			json_write_raw(to, number_keys[i], "null");
	json_write_close(to, "}");
}

#define TEXT(line, most) (int)((line).len < (most) ? (line).len : (most)), (line).at

static char *distance_text(const struct state *s)
{
	const struct line *there = &s->texts[UPSTREAM];
	unsigned long long ahead = s->numbers[AHEAD], behind = s->numbers[BEHIND];

	if (!there->at || !s->has[AHEAD] || !s->has[BEHIND])
		return text_copy("");
	if (!ahead && !behind)
		return text_format(", as %.*s", TEXT(*there, 255u));
	return text_format(", %llu ahead of %.*s and %llu behind it%s", ahead,
			   TEXT(*there, 255u), behind,
			   ahead && behind ? ": they have diverged, and nothing was "
					     "merged"
					   : "");
}

static char *state_text(const struct state *s)
{
	AUTO_FREE char *distance = distance_text(s);
	const struct line *branch = &s->texts[BRANCH], *commit = &s->texts[COMMIT];
	AUTO_FREE char *at = commit->at ? text_format("at %.*s", TEXT(*commit, 12u))
					: text_copy("without a commit");

	if (!branch->at)
		return text_format("No branch, %s%s.", at, distance);
	return text_format("Branch %.*s, %s%s.", TEXT(*branch, 255u), at, distance);
}

static bool observe_state(struct text t, struct buffer *members, char **ret_content)
{
	struct state s = { 0 };
	struct line l;

	while (next_line(&t, &l))
		if (!take_key(&s, &l))
			return false;
	put_state(members, &s);
	*ret_content = state_text(&s);
	return true;
}

/* --- changes ------------------------------------------------------------------------ */

/* Reads the answer to git_changes: lines "S PATH", a status letter and a path. A line
 * that begins with "[" is the last: it tells the model how many changes are not shown. */
static bool observe_changes(struct text t, struct buffer *members)
{
	struct line l;

	json_write_open(members, "changes", "[");
	while (next_line(&t, &l) && l.at[0] != '[') {
		if (l.len < 3 || !memchr("MADU", l.at[0], 4) || l.at[1] != ' ')
			return false;
		json_write_open(members, NULL, "{");
		json_write_bytes(members, "status", l.at, 1);
		json_write_bytes(members, "path", l.at + 2, l.len - 2);
		json_write_close(members, "}");
	}
	json_write_close(members, "]");
	return true;
}

/* --- diff --------------------------------------------------------------------------- */

/* Takes one side of a diff from the text: as many bytes as `number` says; "-": the file
 * does not exist on this side. */
static bool take_side(struct text *t, const struct line *number, struct line *ret)
{
	uint64_t len;

	*ret = (struct line){ NULL, 0 };
	if (number->len == 1 && number->at[0] == '-')
		return true;
	if (!get_number(number->at, number->len, &len) || len > t->left)
		return false;
	*ret = (struct line){ t->at, (size_t)len };
	t->at += len;
	t->left -= (size_t)len;
	return true;
}

static bool observe_diff(struct text t, struct buffer *members, char **ret_content)
{
	struct line head, one, other, original, modified;

	if (!next_line(&t, &head) || !split(&head, &one, &other) ||
	    !take_side(&t, &one, &original) || !take_side(&t, &other, &modified) ||
	    t.left > 0)
		return false;
	json_write_open(members, "diff", "{");
	put_line(members, "modified", &modified);
	put_line(members, "original", &original);
	json_write_close(members, "}");
	bool is_same = original.at && modified.at && original.len == modified.len &&
		       !memcmp(original.at, modified.at, original.len);
	*ret_content = text_copy(!original.at	? "The file is new."
				 : !modified.at ? "The file was removed."
				 : is_same	? "The file was not changed."
						: "The file was changed.");
	return true;
}

/* --- microagents -------------------------------------------------------------------- */

/* Reads the answer to microagents. *ret_content is the list of their paths, one a line,
 * for the model. */
static bool observe_agents(struct text t, struct buffer *members, char **ret_content)
{
	struct line head, number, path, content;
	struct list paths = { 0 };
	bool is_whole = true;

	json_write_open(members, "microagents", "[");
	while (is_whole && next_line(&t, &head)) {
		is_whole = split(&head, &number, &path) && path.len > 0 &&
			   take_side(&t, &number, &content);
		if (!is_whole)
			break;
		json_write_open(members, NULL, "{");
		put_line(members, "path", &path);
		put_line(members, "content", &content);
		json_write_close(members, "}");
		list_addf(&paths, "%.*s", (int)path.len, path.at);
	}
	json_write_close(members, "]");
	*ret_content = paths.count ? list_join(&paths, 0, "\n") : text_copy("");
	list_done(&paths);
	return is_whole;
}

/* --- all ---------------------------------------------------------------------------- */

bool observe_git(const struct observed *o, struct buffer *members, char **ret_content)
{
	const struct text t = { o->content, o->len };

	*ret_content = NULL;
	switch ((int)o->action->kind) {
	case ACT_GIT_CLONE:
	case ACT_GIT_BRANCH:
		return observe_state(t, members, ret_content);
	case ACT_GIT_CHANGES:
		return observe_changes(t, members);
	case ACT_GIT_DIFF:
		return observe_diff(t, members, ret_content);
	case ACT_GIT_HOOKS:
		if (o->len == 0)
			*ret_content = text_copy(
				"There is no .openhands/pre-commit.sh: nothing was "
				"installed.");
		return true;
	case ACT_MICROAGENTS:
		return observe_agents(t, members, ret_content);
	default:
		return true;
	}
}
