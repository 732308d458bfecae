#include "protocol/message.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

static const char *const names[] = {
	[MSG_NONE] = "none",	     [MSG_HELLO] = "hello",
	[MSG_EXEC] = "exec",	     [MSG_STARTED] = "started",
	[MSG_FAILED] = "failed",     [MSG_EXITED] = "exited",
	[MSG_SIGNAL] = "signal",     [MSG_RESIZE] = "resize",
	[MSG_STOP] = "stop",	     [MSG_CGROUP] = "cgroup",
	[MSG_OPEN] = "open",	     [MSG_RUN] = "run",
	[MSG_CANCEL] = "cancel",     [MSG_READ] = "read",
	[MSG_WRITE] = "write",	     [MSG_OUTPUT] = "output",
	[MSG_CONTENT] = "content",   [MSG_REPORT] = "report",
	[MSG_DONE] = "done",	     [MSG_END] = "end",
	[MSG_HOLD] = "hold",	     [MSG_EDIT] = "edit",
	[MSG_EDITED] = "edited",     [MSG_ERRAND] = "errand",
	[MSG_RETURNED] = "returned", [MSG_ENV] = "env",
	[MSG_PAUSED] = "paused",     [MSG_DIAL] = "dial",
	[MSG_FINISH] = "finish",     [MSG_HANGUP] = "hangup",
	[MSG_FINISHED] = "finished", [MSG_CLOSED] = "closed",
	[MSG_FREEZE] = "freeze",     [MSG_FROZEN] = "frozen",
	[MSG_PLUGIN] = "plugin",     [MSG_OFFER] = "offer",
	[MSG_STATE] = "state",	     [MSG_CALL] = "call",
	[MSG_ANSWERED] = "answered",
};
_Static_assert(ARRAY_LEN(names) == MSG_COUNT, "a message has no name");

static const char *const stages[] = {
	[EXEC_STAGE_NONE] = "start",	   [EXEC_STAGE_PTY] = "open a terminal",
	[EXEC_STAGE_FORK] = "fork",	   [EXEC_STAGE_RLIMIT] = "set a resource limit",
	[EXEC_STAGE_USER] = "become the user",
	[EXEC_STAGE_CWD] = "enter the working directory",
	[EXEC_STAGE_LOOKUP] = "find the program",
	[EXEC_STAGE_FILTER] = "enter the seccomp filter",
	[EXEC_STAGE_EXECVE] = "execute the program",
	[EXEC_STAGE_CGROUP] = "enter the cgroup of the limits",
};
_Static_assert(ARRAY_LEN(stages) == EXEC_STAGE_COUNT, "a stage has no name");

const char *message_name(uint32_t type)
{
	return type < MSG_COUNT && names[type] ? names[type] : "unknown";
}

bool message_is_from_executor(uint32_t type)
{
	static const bool is_from[MSG_COUNT] = {
		[MSG_HELLO] = true,    [MSG_STARTED] = true,  [MSG_FAILED] = true,
		[MSG_EXITED] = true,   [MSG_OUTPUT] = true,   [MSG_CONTENT] = true,
		[MSG_REPORT] = true,   [MSG_DONE] = true,     [MSG_EDITED] = true,
		[MSG_RETURNED] = true, [MSG_PAUSED] = true,   [MSG_FINISHED] = true,
		[MSG_CLOSED] = true,   [MSG_FROZEN] = true,   [MSG_OFFER] = true,
		[MSG_STATE] = true,    [MSG_ANSWERED] = true,
	};

	return type < MSG_COUNT && is_from[type];
}

const char *exec_stage_name(uint32_t stage)
{
	return stage < EXEC_STAGE_COUNT ? stages[stage] : "unknown";
}

int message_checked(const struct frame *f, const struct fields *in, bool in_range,
		    struct err *e)
{
	if (fields_end(in) && in_range)
		return 0;
	return err_set(e, ERR_PROTOCOL, "a malformed '%s' message",
		       message_name(f->type));
}

int message_put_hello(struct buffer *b, const struct hello *h, struct err *e)
{
	size_t begun = frame_begin(b, MSG_HELLO, 0);

	frame_put_u32(b, h->version);
	frame_put_u32(b, h->pid);
	frame_put_u32(b, h->uid);
	frame_put_u32(b, h->gid);
	frame_put_u64(b, h->caps);
	return frame_end(b, begun, e);
}

int message_get_hello(const struct frame *f, struct hello *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct hello h = { .version = fields_get_u32(&in) };

	h.pid = fields_get_u32(&in);
	h.uid = fields_get_u32(&in);
	h.gid = fields_get_u32(&in);
	h.caps = fields_get_u64(&in);
	if (message_checked(f, &in, true, e) < 0)
		return -1;
	*ret = h;
	return 0;
}

static int put_exec(struct buffer *b, uint16_t type, uint32_t id, const struct exec *x,
		    struct err *e)
{
	size_t begun = frame_begin(b, type, id);

	frame_put_u32(b, x->flags);
	frame_put_u32(b, x->uid);
	frame_put_u32(b, x->gid);
	frame_put_u32(b, x->rows);
	frame_put_u32(b, x->cols);
	frame_put_text(b, x->cwd);
	frame_put_list(b, x->argv);
	frame_put_list(b, x->env);
	frame_put_u32(b, x->rlimit_count);
	for (uint32_t i = 0; i < x->rlimit_count; i++) {
		frame_put_u32(b, x->rlimits[i].resource);
		frame_put_u64(b, x->rlimits[i].soft);
		frame_put_u64(b, x->rlimits[i].hard);
	}
	frame_put_bytes(b, x->filter, x->filter_len);
	frame_put_u32(b, x->group_count);
	for (uint32_t i = 0; i < x->group_count; i++)
		frame_put_u32(b, x->groups[i]);
	return frame_end(b, begun, e);
}

int message_put_exec(struct buffer *b, uint32_t id, const struct exec *x, struct err *e)
{
	return put_exec(b, MSG_EXEC, id, x, e);
}

int message_put_open(struct buffer *b, uint32_t id, const struct exec *x, struct err *e)
{
	return put_exec(b, MSG_OPEN, id, x, e);
}

int message_put_plugin(struct buffer *b, uint32_t id, const struct exec *x, struct err *e)
{
	return put_exec(b, MSG_PLUGIN, id, x, e);
}

/* Reads a list of texts into a new NULL-terminated array; the texts are borrowed from
 * the frame. */
static char **get_list(struct fields *in)
{
	uint32_t count = fields_get_list(in);
	char **texts = mem_zeroed((size_t)count + 1, sizeof(*texts));
	/* execve(2) takes pointers without const; no text is written to. */
	for (uint32_t i = 0; i < count; i++)
		texts[i] = (char *)(uintptr_t)fields_get_text(in);
	return texts;
}

static bool get_rlimits(struct fields *in, struct exec *x)
{
	bool in_range = true;

	x->rlimit_count = fields_get_u32(in);
	if (x->rlimit_count > EXEC_MAX_RLIMITS)
		return false;
	for (uint32_t i = 0; i < x->rlimit_count; i++) {
		struct exec_rlimit *r = &x->rlimits[i];
		r->resource = fields_get_u32(in);
		r->soft = fields_get_u64(in);
		r->hard = fields_get_u64(in);
		in_range = in_range && r->resource < RLIM_NLIMITS;
	}
	return in_range;
}

static bool get_filter(struct fields *in, struct exec *x)
{
	struct bytes got = fields_get_bytes(in);

	x->filter = got.data;
	x->filter_len = (uint32_t)got.len;
	return got.len <= EXEC_MAX_FILTER && got.len % EXEC_FILTER_UNIT == 0;
}

static bool get_groups(struct fields *in, struct exec *x)
{
	x->group_count = fields_get_u32(in);
	if (x->group_count > EXEC_MAX_GROUPS)
		return false;
	for (uint32_t i = 0; i < x->group_count; i++)
		x->groups[i] = fields_get_u32(in);
	return true;
}

/* Returns whether the flags and the number of arguments are allowed together. */
static bool is_command(const struct exec *x)
{
	const uint32_t copies = x->flags & EXEC_COPIES, file = EXEC_FILE | EXEC_PARENTS,
		       pack = EXEC_FOLLOW | EXEC_CONTENTS;
	size_t words = 0;

	while (words < 4 && x->argv[words])
		words++;
	if ((x->flags & ~(uint32_t)EXEC_FLAGS) || words == 0)
		return false;
	if (!copies)
		return !(x->flags & (pack | file));
	if (copies == EXEC_COPIES ||
	    (x->flags & (EXEC_PTY | EXEC_LAST | EXEC_TREE | EXEC_ALONE)))
		return false;
	if (copies == EXEC_PACK)
		return words == 2 && !(x->flags & file);
	if (x->flags & file && (!(x->flags & EXEC_FILE) || words != 3))
		return false;
	return !(x->flags & pack) && (words == 2 || words == 3);
}

int message_get_exec(const struct frame *f, struct exec *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct exec x = { .flags = fields_get_u32(&in) };

	x.uid = fields_get_u32(&in);
	x.gid = fields_get_u32(&in);
	x.rows = fields_get_u32(&in);
	x.cols = fields_get_u32(&in);
	x.cwd = fields_get_text(&in);
	x.argv = get_list(&in);
	x.env = get_list(&in);
	bool in_range = get_rlimits(&in, &x) && get_filter(&in, &x) &&
			get_groups(&in, &x) && x.rows <= UINT16_MAX &&
			x.cols <= UINT16_MAX && is_command(&x);
	if (message_checked(f, &in, in_range, e) < 0) {
		exec_done(&x);
		return -1;
	}
	*ret = x;
	return 0;
}

void exec_done(struct exec *x)
{
	if (!x)
		return;
	free(x->argv);
	free(x->env);
	x->argv = x->env = NULL;
}

int message_put_env(struct buffer *b, const struct list *set, const struct list *unset,
		    struct err *e)
{
	size_t begun = frame_begin(b, MSG_ENV, 0);

	frame_put_list(b, set->items);
	frame_put_list(b, unset->items);
	return frame_end(b, begun, e);
}

static struct list copied_list(struct fields *in)
{
	uint32_t count = fields_get_list(in);
	struct list texts = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		const char *text = fields_get_text(in);
		if (text)
			list_add(&texts, text);
	}
	return texts;
}

/* Reads a list of texts of a MSG_ENV. The executor checks names and values where it uses
 * them (variables.h). */
int message_get_env(const struct frame *f, struct list *ret_set, struct list *ret_unset,
		    struct err *e)
{
	struct fields in = fields_of(f);
	struct list set = copied_list(&in), unset = copied_list(&in);

	if (message_checked(f, &in, true, e) < 0) {
		list_done(&set);
		list_done(&unset);
		return -1;
	}
	*ret_set = set;
	*ret_unset = unset;
	return 0;
}

int message_put_started(struct buffer *b, uint32_t id, uint32_t pid, struct err *e)
{
	size_t begun = frame_begin(b, MSG_STARTED, id);

	frame_put_u32(b, pid);
	return frame_end(b, begun, e);
}

int message_get_started(const struct frame *f, uint32_t *ret_pid, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t pid = fields_get_u32(&in);

	if (message_checked(f, &in, pid > 1 && pid <= INT32_MAX, e) < 0)
		return -1;
	*ret_pid = pid;
	return 0;
}

int message_put_failed(struct buffer *b, uint32_t id, const struct failed *x,
		       struct err *e)
{
	size_t begun = frame_begin(b, MSG_FAILED, id);

	frame_put_u32(b, x->stage);
	frame_put_u32(b, x->sys);
	return frame_end(b, begun, e);
}

int message_get_failed(const struct frame *f, struct failed *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct failed x = { .stage = fields_get_u32(&in) };

	x.sys = fields_get_u32(&in);
	bool in_range = x.stage > EXEC_STAGE_NONE && x.stage < EXEC_STAGE_COUNT &&
			x.sys > 0 && x.sys < 4096;
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int message_put_exited(struct buffer *b, uint32_t id, const struct exited *x,
		       struct err *e)
{
	size_t begun = frame_begin(b, MSG_EXITED, id);

	frame_put_u32(b, x->is_signaled);
	frame_put_u32(b, x->status);
	frame_put_u64(b, x->user_us);
	frame_put_u64(b, x->sys_us);
	return frame_end(b, begun, e);
}

int message_get_exited(const struct frame *f, struct exited *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct exited x = { .is_signaled = fields_get_u32(&in) };

	x.status = fields_get_u32(&in);
	x.user_us = fields_get_u64(&in);
	x.sys_us = fields_get_u64(&in);
	bool is_code = x.is_signaled == 0 && x.status <= 255;
	bool in_range = is_code || (x.is_signaled == 1 && x.status > 0 && x.status <= 64);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int message_put_signal(struct buffer *b, uint32_t id, uint32_t signo, struct err *e)
{
	size_t begun = frame_begin(b, MSG_SIGNAL, id);

	frame_put_u32(b, signo);
	return frame_end(b, begun, e);
}

int message_get_signal(const struct frame *f, uint32_t *ret_signo, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t signo = fields_get_u32(&in);

	if (message_checked(f, &in, signo > 0 && signo < NSIG, e) < 0)
		return -1;
	*ret_signo = signo;
	return 0;
}

int message_put_resize(struct buffer *b, uint32_t id, uint32_t rows, uint32_t cols,
		       struct err *e)
{
	size_t begun = frame_begin(b, MSG_RESIZE, id);

	frame_put_u32(b, rows);
	frame_put_u32(b, cols);
	return frame_end(b, begun, e);
}

int message_get_resize(const struct frame *f, uint32_t *ret_rows, uint32_t *ret_cols,
		       struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t rows = fields_get_u32(&in), cols = fields_get_u32(&in);

	if (message_checked(f, &in, rows <= UINT16_MAX && cols <= UINT16_MAX, e) < 0)
		return -1;
	*ret_rows = rows;
	*ret_cols = cols;
	return 0;
}

int message_put_stop(struct buffer *b, uint32_t grace_ms, struct err *e)
{
	size_t begun = frame_begin(b, MSG_STOP, 0);

	frame_put_u32(b, grace_ms);
	return frame_end(b, begun, e);
}

int message_get_stop(const struct frame *f, uint32_t *ret_grace_ms, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t grace_ms = fields_get_u32(&in);

	if (message_checked(f, &in, true, e) < 0)
		return -1;
	*ret_grace_ms = grace_ms;
	return 0;
}

int message_put_end(struct buffer *b, uint32_t id, struct err *e)
{
	return frame_end(b, frame_begin(b, MSG_END, id), e);
}

int message_get_end(const struct frame *f, struct err *e)
{
	struct fields in = fields_of(f);

	return message_checked(f, &in, true, e);
}

int message_put_hold(struct buffer *b, bool is_held, struct err *e)
{
	size_t begun = frame_begin(b, MSG_HOLD, 0);

	frame_put_u32(b, is_held);
	return frame_end(b, begun, e);
}

int message_get_hold(const struct frame *f, bool *ret_is_held, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t is_held = fields_get_u32(&in);

	if (message_checked(f, &in, is_held <= 1, e) < 0)
		return -1;
	*ret_is_held = is_held;
	return 0;
}

int message_put_paused(struct buffer *b, uint32_t number, struct err *e)
{
	size_t begun = frame_begin(b, MSG_PAUSED, 0);

	frame_put_u32(b, number);
	return frame_end(b, begun, e);
}

int message_get_paused(const struct frame *f, uint32_t *ret_number, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t number = fields_get_u32(&in);

	if (message_checked(f, &in, f->id == 0 && number > 0, e) < 0)
		return -1;
	*ret_number = number;
	return 0;
}

int message_put_freeze(struct buffer *b, uint32_t number, struct err *e)
{
	size_t begun = frame_begin(b, MSG_FREEZE, 0);

	frame_put_u32(b, number);
	return frame_end(b, begun, e);
}

int message_get_freeze(const struct frame *f, uint32_t *ret_number, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t number = fields_get_u32(&in);

	if (message_checked(f, &in, f->id == 0, e) < 0)
		return -1;
	*ret_number = number;
	return 0;
}

int message_put_frozen(struct buffer *b, const struct frozen *what, struct err *e)
{
	size_t begun = frame_begin(b, MSG_FROZEN, 0);

	frame_put_u32(b, what->number);
	frame_put_u32(b, what->why);
	frame_put_u32(b, what->pid);
	return frame_end(b, begun, e);
}

int message_get_frozen(const struct frame *f, struct frozen *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frozen what = { .number = fields_get_u32(&in) };

	what.why = fields_get_u32(&in);
	what.pid = fields_get_u32(&in);
	bool in_range = f->id == 0 && what.number > 0 && what.why < FREEZE_WHY_COUNT;
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = what;
	return 0;
}

int message_put_dial(struct buffer *b, uint32_t id, uint32_t port, struct err *e)
{
	size_t begun = frame_begin(b, MSG_DIAL, id);

	frame_put_u32(b, port);
	return frame_end(b, begun, e);
}

int message_get_dial(const struct frame *f, uint32_t *ret_port, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t port = fields_get_u32(&in);
	bool in_range = (f->id & DIAL_ID) && port > 0 && port <= UINT16_MAX;

	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret_port = port;
	return 0;
}

int message_put_word(struct buffer *b, enum message_type type, uint32_t id, struct err *e)
{
	return frame_end(b, frame_begin(b, (uint16_t)type, id), e);
}

int message_get_word(const struct frame *f, struct err *e)
{
	struct fields in = fields_of(f);

	return message_checked(f, &in, f->id & DIAL_ID, e);
}

int message_put_closed(struct buffer *b, uint32_t id, uint32_t sys, struct err *e)
{
	size_t begun = frame_begin(b, MSG_CLOSED, id);

	frame_put_u32(b, sys);
	return frame_end(b, begun, e);
}

int message_get_closed(const struct frame *f, uint32_t *ret_sys, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t sys = fields_get_u32(&in);

	if (message_checked(f, &in, (f->id & DIAL_ID) && sys < 4096, e) < 0)
		return -1;
	*ret_sys = sys;
	return 0;
}

int message_put_cgroup(struct buffer *b, struct err *e)
{
	return frame_end(b, frame_begin(b, MSG_CGROUP, 0), e);
}

int message_get_cgroup(const struct frame *f, struct err *e)
{
	struct fields in = fields_of(f);

	return message_checked(f, &in, true, e);
}
