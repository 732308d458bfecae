/* Explains from the plan alone why an action on a path inside was refused.  A process
 * inside has chosen the path, so no file of the host is looked at.  For the same
 * reason, symbolic links are not followed on disk (base/path_walk.h): only links that
 * the plan itself makes are replaced, as text. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/answer.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "sandbox/explain/why.h"
#include "sandbox/explain/why_parts.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/lookup_parts.h"
#include "sandbox/plan/plan.h"

#define LINKS_MAX 8 /* how many of the plan's own links are followed, so that a loop of
		     * links ends */

/* Returns the path with one link of the plan replaced by its target,
 * allocated; NULL: no link of the plan is on the way. */
static char *follow_one(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct step *s = &p->steps[i];
		const char *rest = s->kind == STEP_SYMLINK ? path_below(path, s->target)
							   : NULL;
		if (!rest)
			continue;
		if (*s->data == '/')
			return text_format("%s%s", s->data, rest);
		size_t above = (size_t)(strrchr(s->target, '/') - s->target);
		return strstr(s->data, "..") ? NULL
		       : text_format("%.*s/%s%s", (int)above, s->target, s->data, rest);
	}
	return NULL;
}

static char *follow_all(const struct plan *p, const char *path)
{
	char *at = text_copy(path);

	for (int i = 0; i < LINKS_MAX; i++) {
		char *next = follow_one(p, at);
		if (!next)
			break;
		free(at);
		at = next;
	}
	return at;
}

bool why_refused(const struct why *w, const char *path, int sys, struct answer *ret)
{
	const struct lookup as_written = { .plan = w->plan, .done = w->plan->count };
	struct found f = { .st = { .st_mode = S_IFREG } };

	if (!path_is_plain(path)) /* no path of the plan is like that */
		return false;
	AUTO_FREE char *at = follow_all(w->plan, path);
	f.path = at;
	f.step = &w->plan->steps[lookup_cover(&as_written, at, &f.is_read_only)];
	if (f.step->kind == STEP_MASK && (sys == EACCES || sys == EPERM))
		why_say_mask(w, &f, ret);
	else if (sys == EROFS && f.is_read_only)
		why_say_read_only(w, &f, ret);
	else if (sys == EROFS && why_say_missing(w, f.step, at, ret))
		; /* nothing to do: why_say_missing() has set the answer */
	else if (sys == ENOENT && f.step->kind == STEP_ROOT)
		why_say_not_shown(w, at, ret);
	else
		return false;
	if (!path_is_unquoted(at))
		own_free(&ret->change);
	return true;
}
