#include "protocol/action.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/err.h"
#include "protocol/message.h"

/* The largest time in seconds after 1970 that is accepted; later times cannot be printed
 * as dates. */
#define SECONDS_MAX (INT64_C(1) << 53)

int action_put_errand(struct buffer *b, uint32_t id, const struct errand_request *r,
		      struct err *e)
{
	size_t begun = frame_begin(b, MSG_ERRAND, id);

	frame_put_u32(b, r->session);
	frame_put_u32(b, r->place.uid);
	frame_put_u32(b, r->place.gid);
	frame_put_text(b, r->place.cwd);
	frame_put_u32(b, r->kind);
	frame_put_u32(b, r->flags);
	frame_put_u32(b, r->depth);
	frame_put_u32(b, r->limit);
	frame_put_u64(b, r->timeout_ms);
	frame_put_text(b, r->path);
	frame_put_text(b, r->other);
	frame_put_text(b, r->include);
	frame_put_bytes(b, r->secret.data, r->secret.len);
	return frame_end(b, begun, e);
}

/* For each kind of errand, the fields that it uses besides its path; all others must be
 * 0 or "". */
static const struct takes {
	uint32_t flags;
	bool depth, limit, other, include;
	bool may_be_all;   /* `depth` may be 0, which means no limit */
	bool may_be_empty; /* `other` may be "" */
	bool has_secret;
} takes[] = {
	[ERRAND_NONE] = { 0 },
	[ERRAND_LIST] = { .depth = true, .limit = true },
	[ERRAND_GLOB] = { .limit = true, .other = true },
	[ERRAND_STAT] = { 0 },
	[ERRAND_MOVE] = { .flags = ERRAND_OVERWRITE, .other = true },
	[ERRAND_REMOVE] = { .flags = ERRAND_RECURSIVE },
	[ERRAND_MKDIR] = { 0 },
	[ERRAND_GREP] = { .flags = ERRAND_IGNORE_CASE, .limit = true, .other = true,
			  .include = true },
	[ERRAND_GIT_CLONE] = { .depth = true, .other = true, .include = true,
			       .may_be_all = true, .has_secret = true },
	[ERRAND_GIT_BRANCH] = { .flags = ERRAND_CREATE, .other = true },
	[ERRAND_GIT_CHANGES] = { .limit = true, .other = true, .may_be_empty = true },
	[ERRAND_GIT_DIFF] = { .other = true, .may_be_empty = true },
	[ERRAND_GIT_SETUP] = { .flags = ERRAND_CREATE, .other = true, .include = true,
			       .may_be_empty = true },
	[ERRAND_GIT_HOOKS] = { 0 },
	[ERRAND_MICROAGENTS] = { .other = true },
	[ERRAND_ACCOUNT] = { .other = true, .include = true },
};
_Static_assert(sizeof(takes) / sizeof(takes[0]) == ERRAND_KIND_COUNT,
	       "a kind of errand has no row");

static bool is_text(const char *text, bool may_be_empty)
{
	return text && (text[0] || may_be_empty) && strnlen(text, PATH_MAX) < PATH_MAX;
}

static bool is_number(uint32_t number, bool is_taken, uint32_t most)
{
	return is_taken ? number > 0 && number <= most : number == 0;
}

static bool is_errand(const struct errand_request *r)
{
	if (r->kind == ERRAND_NONE || r->kind >= ERRAND_KIND_COUNT)
		return false;
	const struct takes *t = &takes[r->kind];
	bool has_depth = t->depth && (r->depth || !t->may_be_all);
	return !(r->flags & ~t->flags) &&
	       is_number(r->depth, has_depth, ERRAND_DEPTH_MAX) &&
	       is_number(r->limit, t->limit, ERRAND_LIMIT_MAX) &&
	       is_text(r->place.cwd, false) && is_text(r->path, false) &&
	       is_text(r->other, !t->other || t->may_be_empty) &&
	       (t->other || !r->other[0]) && is_text(r->include, true) &&
	       (t->include || !r->include[0]) &&
	       r->secret.len <= (t->has_secret ? ERRAND_SECRET_MAX : 0);
}

int action_get_errand(const struct frame *f, struct errand_request *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct errand_request r = { .session = fields_get_u32(&in) };

	r.place.uid = fields_get_u32(&in);
	r.place.gid = fields_get_u32(&in);
	r.place.cwd = fields_get_text(&in);
	r.kind = fields_get_u32(&in);
	r.flags = fields_get_u32(&in);
	r.depth = fields_get_u32(&in);
	r.limit = fields_get_u32(&in);
	r.timeout_ms = fields_get_u64(&in);
	r.path = fields_get_text(&in);
	r.other = fields_get_text(&in);
	r.include = fields_get_text(&in);
	r.secret = fields_get_bytes(&in);
	if (message_checked(f, &in, is_errand(&r), e) < 0)
		return -1;
	*ret = r;
	return 0;
}

size_t action_errand_max(uint32_t kind)
{
	if (kind == ERRAND_ACCOUNT)
		return ERRAND_ACCOUNT_MAX;
	return kind == ERRAND_GIT_DIFF ? 2 * ERRAND_SIDE_MAX + 64 : ERRAND_TEXT_MAX;
}

int action_put_returned(struct buffer *b, uint32_t id, const struct returned *x,
			struct err *e)
{
	size_t begun = frame_begin(b, MSG_RETURNED, id);

	frame_put_u32(b, x->outcome);
	frame_put_u32(b, x->sys);
	frame_put_u64(b, x->cut);
	frame_put_text(b, x->path);
	frame_put_text(b, x->cwd);
	frame_put_u32(b, x->stat.mode);
	frame_put_u32(b, x->stat.uid);
	frame_put_u32(b, x->stat.gid);
	frame_put_u64(b, x->stat.size);
	frame_put_u64(b, (uint64_t)x->stat.seconds);
	frame_put_u32(b, x->stat.nanoseconds);
	frame_put_text(b, x->stat.target);
	return frame_end(b, begun, e);
}

static bool is_stat(const struct stat_result *s)
{
	bool is_link = (s->mode & S_IFMT) == S_IFLNK;

	return s->mode <= 0xffff && s->size <= ACTION_CUT_MAX &&
	       s->seconds <= SECONDS_MAX && s->seconds >= -SECONDS_MAX &&
	       s->nanoseconds < 1000000000 && is_text(s->target, true) &&
	       (is_link || !s->target[0]);
}

/* Returns whether the struct is empty, as in the answer to any errand but ERRAND_STAT. */
static bool is_no_stat(const struct stat_result *s)
{
	return !s->mode && !s->uid && !s->gid && !s->size && !s->seconds &&
	       !s->nanoseconds && s->target && !s->target[0];
}

static bool is_returned(const struct returned *x)
{
	return x->outcome < OUTCOME_COUNT && x->sys < 4096 && x->cut <= ACTION_CUT_MAX &&
	       is_text(x->path, true) && is_text(x->cwd, true) &&
	       (is_no_stat(&x->stat) ||
		(x->outcome == OUTCOME_DONE && x->stat.mode && is_stat(&x->stat)));
}

int action_get_returned(const struct frame *f, struct returned *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct returned x = { .outcome = fields_get_u32(&in) };

	x.sys = fields_get_u32(&in);
	x.cut = fields_get_u64(&in);
	x.path = fields_get_text(&in);
	x.cwd = fields_get_text(&in);
	x.stat.mode = fields_get_u32(&in);
	x.stat.uid = fields_get_u32(&in);
	x.stat.gid = fields_get_u32(&in);
	x.stat.size = fields_get_u64(&in);
	x.stat.seconds = (int64_t)fields_get_u64(&in);
	x.stat.nanoseconds = fields_get_u32(&in);
	x.stat.target = fields_get_text(&in);
	if (message_checked(f, &in, is_returned(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}
