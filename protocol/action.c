#include "protocol/action.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "protocol/message.h"

/* Returns whether the kernel accepts the text as a path: it is neither empty nor too
 * long. */
static bool is_path(const char *text)
{
	return text && text[0] && strnlen(text, PATH_MAX) < PATH_MAX;
}

static bool is_short(const char *text)
{
	return text && strnlen(text, PATH_MAX) < PATH_MAX;
}

int action_put_run(struct buffer *b, uint32_t id, const struct run_request *r,
		   struct err *e)
{
	size_t begun = frame_begin(b, MSG_RUN, id);

	frame_put_u32(b, r->session);
	frame_put_u32(b, r->kind);
	frame_put_u32(b, r->flags);
	frame_put_u64(b, r->soft_ms);
	frame_put_u64(b, r->hard_ms);
	frame_put_bytes(b, r->text.data, r->text.len);
	return frame_end(b, begun, e);
}

static bool has_zero(struct bytes text)
{
	return text.len > 0 && memchr(text.data, 0, text.len);
}

int action_get_run(const struct frame *f, struct run_request *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct run_request r = { .session = fields_get_u32(&in) };

	r.kind = fields_get_u32(&in);
	r.flags = fields_get_u32(&in);
	r.soft_ms = fields_get_u64(&in);
	r.hard_ms = fields_get_u64(&in);
	r.text = fields_get_bytes(&in);
	bool in_range = r.kind > RUN_NONE && r.kind < RUN_KIND_COUNT &&
			!(r.flags & ~(uint32_t)RUN_FLAGS) &&
			r.text.len <= ACTION_TEXT_MAX && !has_zero(r.text);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = r;
	return 0;
}

int action_put_cancel(struct buffer *b, uint32_t id, struct err *e)
{
	return frame_end(b, frame_begin(b, MSG_CANCEL, id), e);
}

int action_get_cancel(const struct frame *f, struct err *e)
{
	struct fields in = fields_of(f);

	return message_checked(f, &in, true, e);
}

int action_put_hold(struct buffer *b, uint32_t id, bool is_held, struct err *e)
{
	size_t begun = frame_begin(b, MSG_HOLD, id);

	frame_put_u32(b, is_held);
	return frame_end(b, begun, e);
}

static void put_place(struct buffer *b, const struct file_place *p)
{
	frame_put_u32(b, p->uid);
	frame_put_u32(b, p->gid);
	frame_put_text(b, p->cwd);
}

static struct file_place get_place(struct fields *in)
{
	struct file_place p = { .uid = fields_get_u32(in) };

	p.gid = fields_get_u32(in);
	p.cwd = fields_get_text(in);
	return p;
}

int action_put_read(struct buffer *b, uint32_t id, const struct read_request *r,
		    struct err *e)
{
	size_t begun = frame_begin(b, MSG_READ, id);

	frame_put_u32(b, r->session);
	put_place(b, &r->place);
	frame_put_u32(b, r->form);
	frame_put_u64(b, r->first);
	frame_put_u64(b, r->end);
	frame_put_text(b, r->path);
	return frame_end(b, begun, e);
}

int action_get_read(const struct frame *f, struct read_request *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct read_request r = { .session = fields_get_u32(&in) };

	r.place = get_place(&in);
	r.form = fields_get_u32(&in);
	r.first = fields_get_u64(&in);
	r.end = fields_get_u64(&in);
	r.path = fields_get_text(&in);
	bool in_range = r.form > READ_NONE && r.form < READ_FORM_COUNT &&
			is_path(r.path) && is_path(r.place.cwd);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = r;
	return 0;
}

int action_put_write(struct buffer *b, uint32_t id, const struct write_request *r,
		     struct err *e)
{
	size_t begun = frame_begin(b, MSG_WRITE, id);

	frame_put_u32(b, r->session);
	put_place(b, &r->place);
	frame_put_u64(b, r->first);
	frame_put_u64(b, r->end);
	frame_put_text(b, r->path);
	frame_put_bytes(b, r->content.data, r->content.len);
	return frame_end(b, begun, e);
}

int action_get_write(const struct frame *f, struct write_request *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct write_request r = { .session = fields_get_u32(&in) };

	r.place = get_place(&in);
	r.first = fields_get_u64(&in);
	r.end = fields_get_u64(&in);
	r.path = fields_get_text(&in);
	r.content = fields_get_bytes(&in);
	if (message_checked(f, &in, is_path(r.path) && is_path(r.place.cwd), e) < 0)
		return -1;
	*ret = r;
	return 0;
}

int action_put_text(struct buffer *b, uint16_t type, uint32_t id, struct bytes text,
		    struct err *e)
{
	size_t begun = frame_begin(b, type, id);

	frame_put_bytes(b, text.data, text.len);
	return frame_end(b, begun, e);
}

int action_get_text(const struct frame *f, struct bytes *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct bytes text = fields_get_bytes(&in);

	if (message_checked(f, &in, text.len > 0 && text.len <= ACTION_CHUNK, e) < 0)
		return -1;
	*ret = text;
	return 0;
}

int action_put_report(struct buffer *b, uint32_t id, const struct report *r,
		      struct err *e)
{
	size_t begun = frame_begin(b, MSG_REPORT, id);

	frame_put_u32(b, r->state);
	frame_put_u32(b, r->flags);
	frame_put_u32(b, r->exit_code);
	frame_put_u32(b, r->background);
	frame_put_u64(b, r->cut);
	frame_put_u64(b, r->lines);
	frame_put_u32(b, r->log);
	frame_put_u64(b, r->unlogged);
	frame_put_text(b, r->cwd);
	frame_put_text(b, r->interpreter);
	return frame_end(b, begun, e);
}

static bool is_report(const struct report *r)
{
	bool has_code = r->state == REPORT_COMPLETED || r->state == REPORT_CANCELLED;

	return r->state > REPORT_NONE && r->state < REPORT_STATE_COUNT &&
	       !(r->flags & ~(uint32_t)REPORT_FLAGS) &&
	       (has_code ? r->exit_code <= 255 : r->exit_code == ACTION_NO_CODE) &&
	       r->background <= INT32_MAX && r->cut <= ACTION_CUT_MAX &&
	       r->lines <= ACTION_CUT_MAX && r->unlogged <= ACTION_CUT_MAX &&
	       is_short(r->cwd) && is_short(r->interpreter);
}

int action_get_report(const struct frame *f, struct report *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct report r = { .state = fields_get_u32(&in) };

	r.flags = fields_get_u32(&in);
	r.exit_code = fields_get_u32(&in);
	r.background = fields_get_u32(&in);
	r.cut = fields_get_u64(&in);
	r.lines = fields_get_u64(&in);
	r.log = fields_get_u32(&in);
	r.unlogged = fields_get_u64(&in);
	r.cwd = fields_get_text(&in);
	r.interpreter = fields_get_text(&in);
	if (message_checked(f, &in, is_report(&r), e) < 0)
		return -1;
	*ret = r;
	return 0;
}

int action_put_done(struct buffer *b, uint32_t id, const struct done *d, struct err *e)
{
	size_t begun = frame_begin(b, MSG_DONE, id);

	frame_put_u32(b, d->outcome);
	frame_put_u32(b, d->sys);
	frame_put_text(b, d->path);
	frame_put_text(b, d->cwd);
	return frame_end(b, begun, e);
}

int action_get_done(const struct frame *f, struct done *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct done d = { .outcome = fields_get_u32(&in) };

	d.sys = fields_get_u32(&in);
	d.path = fields_get_text(&in);
	d.cwd = fields_get_text(&in);
	bool in_range = d.outcome < OUTCOME_FILE_COUNT && d.sys < 4096 &&
			is_short(d.path) && is_short(d.cwd);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = d;
	return 0;
}

int action_put_edit(struct buffer *b, uint32_t id, const struct edit_request *r,
		    struct err *e)
{
	size_t begun = frame_begin(b, MSG_EDIT, id);

	frame_put_u32(b, r->session);
	put_place(b, &r->place);
	frame_put_u32(b, r->flags);
	frame_put_text(b, r->command);
	frame_put_text(b, r->path);
	frame_put_text(b, r->line);
	frame_put_text(b, r->range);
	frame_put_bytes(b, r->file_text.data, r->file_text.len);
	frame_put_bytes(b, r->old_str.data, r->old_str.len);
	frame_put_bytes(b, r->new_str.data, r->new_str.len);
	return frame_end(b, begun, e);
}

int action_get_edit(const struct frame *f, struct edit_request *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct edit_request r = { .session = fields_get_u32(&in) };

	r.place = get_place(&in);
	r.flags = fields_get_u32(&in);
	r.command = fields_get_text(&in);
	r.path = fields_get_text(&in);
	r.line = fields_get_text(&in);
	r.range = fields_get_text(&in);
	r.file_text = fields_get_bytes(&in);
	r.old_str = fields_get_bytes(&in);
	r.new_str = fields_get_bytes(&in);
	bool in_range = !(r.flags & ~(uint32_t)EDIT_FLAGS) && is_path(r.path) &&
			is_path(r.place.cwd) && is_short(r.command) && is_short(r.line) &&
			is_short(r.range);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = r;
	return 0;
}

int action_put_edited(struct buffer *b, uint32_t id, const struct edited *x,
		      struct err *e)
{
	size_t begun = frame_begin(b, MSG_EDITED, id);

	frame_put_u32(b, x->outcome);
	frame_put_u64(b, x->text_len);
	frame_put_u64(b, x->cut);
	return frame_end(b, begun, e);
}

int action_get_edited(const struct frame *f, struct edited *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct edited x = { .outcome = fields_get_u32(&in) };

	x.text_len = fields_get_u64(&in);
	x.cut = fields_get_u64(&in);
	bool in_range = (x.outcome == OUTCOME_DONE || x.outcome == OUTCOME_BINARY) &&
			x.cut <= ACTION_CUT_MAX;
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = x;
	return 0;
}
