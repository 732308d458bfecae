#include "policy/volume.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/units.h"

int volume_normalize(const char *path, char **ret, struct err *e)
{
	if (path[0] != '/')
		return err_set(e, ERR_USAGE, "'%.200s' is not an absolute path", path);
	if (strlen(path) >= PATH_MAX)
		return err_set(e, ERR_USAGE, "a path of %zu bytes is too long",
			       strlen(path));

	AUTO_FREE char *clean = mem_zeroed(1, strlen(path) + 2);
	char *to = clean;
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		if (len == 2 && !strncmp(at, "..", 2))
			return err_set(e, ERR_USAGE, "'%.200s' contains '..'", path);
		if (len > 0 && !(len == 1 && *at == '.')) {
			*to++ = '/';
			memcpy(to, at, len);
			to += len;
		}
		at += len;
		at += strspn(at, "/");
	}
	if (to == clean)
		*to++ = '/';
	*ret = clean;
	clean = NULL;
	return 0;
}

struct mode {
	bool is_writable, is_cow;
};

static int unknown_mode(const char *mode, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "unknown mode '%.60s'; use ro, rw or cow", mode);
	return err_remedy(e, "ro: read-only; rw: writable; cow: writable, changes are kept "
			     "apart");
}

/* Removes a final ":ro", ":rw" or ":cow" from `word`.  Text after the last ':' that
 * contains a slash is a path and no mode. */
static int take_mode(char *word, struct mode *m, struct err *e)
{
	*m = (struct mode){ .is_writable = true };
	char *colon = strrchr(word, ':');

	/* In "/etc:" the target is missing; its ':' is not the begin of a mode. */
	if (!colon || (!colon[1] && colon == strchr(word, ':')))
		return 0;
	if (!strcmp(colon, ":ro"))
		m->is_writable = false;
	else if (!strcmp(colon, ":cow"))
		m->is_cow = true;
	else if (strcmp(colon, ":rw") && !strchr(colon, '/'))
		return unknown_mode(colon + 1, e);
	else if (strcmp(colon, ":rw"))
		return 0;
	*colon = '\0';
	return 0;
}

static int finish(struct err *e, const char *flag, const char *word)
{
	(void)err_in(e, "%s", flag);
	AUTO_FREE char *from = text_format("%s %.200s", flag, word);
	return err_from(e, from);
}

/* Explains what "-v SOURCE" lacks. */
static int no_target(const char *source, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "expected SOURCE:TARGET[:ro|:rw|:cow]");
	if (!*source)
		return err_remedy(e, "the folder on this host comes first: "
				     "-v DIR:/workspace");
	if (*source != '/')
		return err_remedy(e, "to show it at /workspace: -v %.200s:/workspace",
				  source);
	return err_remedy(e, "to show it read-only at its own path: -v %.120s:%.120s:ro",
			  source, source);
}

/* Refuses "SOURCE:work", whose last part is neither a mode nor, since it does not begin
 * with '/', a target. */
static int check_last(const char *word, struct err *e)
{
	static const char *const modes[] = { "ro", "rw", "cow" };
	const size_t len = strcspn(word, ":");
	const char *last = word + len + 1;

	if (!len || !word[len] || !*last || strpbrk(last, ":/"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (!strcmp(last, modes[i]))
			return 0;
	(void)err_set(e, ERR_USAGE,
		      "'%.60s' is neither a path inside, which begins with /, nor a "
		      "mode: ro, rw or cow",
		      last);
	return err_remedy(e, "-v SOURCE:TARGET[:ro|rw|cow], as in -v %.*s:/%.60s",
			  (int)(len < 120 ? len : 120), word, last);
}

static int parse_bind(struct policy *p, const char *word, struct err *e)
{
	AUTO_FREE char *source = text_copy(word);
	AUTO_FREE char *target = NULL;
	struct mode mode;

	if (check_last(word, e) < 0 || take_mode(source, &mode, e) < 0)
		return -1;
	char *colon = strrchr(source, ':');
	if (!colon || colon == source || !colon[1]) {
		source[strcspn(source, ":")] = '\0';
		return no_target(source, e);
	}
	*colon = '\0';
	if (volume_normalize(colon + 1, &target, e) < 0) {
		if (colon[1] != '/')
			(void)err_remedy(
				e, "a path inside begins with /: -v %.120s:/%.60s",
				source, colon + 1);
		return err_in(e, "target");
	}

	AUTO_FREE char *from = text_format("-v %s", word);
	struct volume *v = policy_add_volume(p, VOLUME_BIND, from);
	v->source = text_copy(source);
	v->target = target;
	target = NULL;
	v->is_writable = mode.is_writable;
	v->is_cow = mode.is_cow;
	return 0;
}

int volume_parse_bind(struct policy *p, const char *word, struct err *e)
{
	return parse_bind(p, word, e) < 0 ? finish(e, "-v", word) : 0;
}

static int parse_workspace(struct policy *p, const char *word, struct err *e)
{
	AUTO_FREE char *source = text_copy(word);
	struct mode mode;

	if (take_mode(source, &mode, e) < 0)
		return -1;
	if (!*source)
		return err_set(e, ERR_USAGE, "expected DIR[:ro|:rw|:cow]");

	AUTO_FREE char *from = text_format("--workspace %s", word);
	struct volume *v = policy_add_volume(p, VOLUME_WORKSPACE, from);
	v->source = text_copy(source);
	v->target = text_copy("/workspace");
	v->is_writable = mode.is_writable;
	v->is_cow = mode.is_cow;
	return 0;
}

int volume_parse_workspace(struct policy *p, const char *word, struct err *e)
{
	return parse_workspace(p, word, e) < 0 ? finish(e, "--workspace", word) : 0;
}

int volume_parse_toolchain(struct policy *p, const char *word, struct err *e)
{
	AUTO_FREE char *target = NULL;

	if (volume_normalize(word, &target, e) < 0)
		return finish(e, "--toolchain", word);
	AUTO_FREE char *from = text_format("--toolchain %s", word);
	struct volume *v = policy_add_volume(p, VOLUME_TOOLCHAIN, from);
	v->source = text_copy(word);
	v->target = target;
	target = NULL;
	return 0;
}

static int parse_tmpfs(struct policy *p, const char *word, struct err *e)
{
	AUTO_FREE char *path = text_copy(word);
	AUTO_FREE char *target = NULL;
	uint64_t size = 0;
	char *colon = strchr(path, ':');

	if (colon)
		*colon++ = '\0';
	if (colon && (strncmp(colon, "size=", 5) || strchr(colon, ',')))
		return err_set(e, ERR_USAGE,
			       "expected TARGET[:size=BYTES], no other options");
	if (colon && units_parse_bytes(colon + 5, &size, e) < 0)
		return -1;
	if (colon && size == 0)
		return err_set(e, ERR_USAGE, "a size of 0 would mean no bound");
	if (volume_normalize(path, &target, e) < 0)
		return err_in(e, "target");

	AUTO_FREE char *from = text_format("--tmpfs %s", word);
	struct volume *v = policy_add_volume(p, VOLUME_TMPFS, from);
	v->target = target;
	target = NULL;
	v->is_writable = true;
	v->size = size;
	return 0;
}

int volume_parse_tmpfs(struct policy *p, const char *word, struct err *e)
{
	return parse_tmpfs(p, word, e) < 0 ? finish(e, "--tmpfs", word) : 0;
}

char *volume_word(const struct volume *v, const char *source)
{
	const char *mode = v->is_cow ? "cow" : v->is_writable ? "rw" : "ro";

	switch (v->kind) {
	case VOLUME_TMPFS:
		return v->size ? text_format("%s:size=%llu", v->target,
					     (unsigned long long)v->size)
			       : text_copy(v->target);
	case VOLUME_TOOLCHAIN:
		return text_copy(source);
	case VOLUME_WORKSPACE:
		return text_format("%s:%s", source, mode);
	case VOLUME_BIND:
	default:
		return text_format("%s:%s:%s", source, v->target, mode);
	}
}
