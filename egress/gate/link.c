/* The frames between the gate and hutch-egress. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/frame.h"
#include "base/own.h"
#include "egress/gate/flow.h"
#include "egress/gate/gate.h"

static int broken(const char *what, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "hutch-egress sent %s", what);
}

/* --- what hutch-egress says --------------------------------------------------------- */

static int take_fd(struct link *l, struct err *e)
{
	if (!l->fd_count)
		return broken("a connection without a descriptor", e);
	int fd = l->fds[0];
	memmove(l->fds, l->fds + 1, --l->fd_count * sizeof(*l->fds));
	return fd;
}

static int hear_ok(struct gate *g, const struct frame *frame, struct err *e)
{
	struct frames_ok ok;

	if (frames_get_ok(frame, &ok, e) < 0)
		return -1;
	AUTO_CLOSE int fd = take_fd(&g->link, e);
	if (fd < 0)
		return -1;
	struct flow *f = flow_find(g, frame->id);
	/* the guest may have gone meanwhile */
	if (f && f->state == FLOW_ASKS)
		flow_opened(g, f, fd_take(&fd), ok.rule);
	else
		return link_say_closed(g, frame->id, e);
	return 0;
}

static int hear_no(struct gate *g, const struct frame *frame, struct err *e)
{
	struct frames_no no;

	if (frames_get_no(frame, &no, e) < 0)
		return -1;
	struct flow *f = flow_find(g, frame->id);
	if (f && f->state == FLOW_ASKS)
		flow_refused(g, f, no.reason);
	return 0;
}

static int hear_cut(struct gate *g, const struct frame *frame, struct err *e)
{
	uint32_t reason;

	if (frames_get_cut(frame, &reason, e) < 0)
		return -1;
	struct flow *f = flow_find(g, frame->id);
	if (f && f->state == FLOW_RUNS)
		flow_end(g, f, reason);
	return 0;
}

static int hear_resolved(struct gate *g, const struct frame *frame, struct err *e)
{
	uint32_t outcome;

	if (frames_get_resolved(frame, &outcome, e) < 0)
		return -1;
	stub_resolved(g, frame->id, outcome);
	return 0;
}

/* Takes one rule of a new set, which is in force when its last rule has come. */
static int hear_set(struct gate *g, const struct frame *frame, struct err *e)
{
	struct frames_set set;

	if (frames_get_set(frame, &set, e) < 0)
		return -1;
	const struct egress_word word = { .verdict = (enum egress_verdict)set.verdict,
					  .target = set.target,
					  .has_any_tls = set.has_any_tls,
					  .as = set.as[0] ? set.as : NULL };
	if (!set.index) {
		egress_rules_done(&g->coming);
		egress_rules_reserve(&g->coming, set.count);
	}
	/* A preset would add several rules, and the numbers of both would differ. */
	if (set.count &&
	    (set.index != g->coming.count || egress_rules_add(&g->coming, &word, e) < 0 ||
	     g->coming.count != set.index + 1))
		return broken("a rule that cannot be read", e);
	if (set.count && set.index + 1 < set.count)
		return 0;
	egress_rules_done(&g->rules);
	g->rules = g->coming;
	g->coming = (struct egress_rules){ 0 };
	return g->has_rules ? 0 : gate_begin(g, e);
}

static int hear_hello(struct gate *g, const struct frame *frame, struct err *e)
{
	if (frames_get_hello(frame, e) < 0)
		return -1;
	gate_tell_ready(g);
	return 0;
}

static int hear(struct gate *g, const struct frame *frame, struct err *e)
{
	switch ((enum frames_type)frame->type) {
	case FRAMES_HELLO:
		return hear_hello(g, frame, e);
	case FRAMES_OK:
		return hear_ok(g, frame, e);
	case FRAMES_NO:
		return hear_no(g, frame, e);
	case FRAMES_CUT:
		return hear_cut(g, frame, e);
	case FRAMES_RESOLVED:
		return hear_resolved(g, frame, e);
	case FRAMES_SET:
		return hear_set(g, frame, e);
	case FRAMES_NONE:
	case FRAMES_OPEN:
	case FRAMES_CLOSE:
	case FRAMES_RESOLVE:
	case FRAMES_EVENT:
	case FRAMES_COUNT:
		break;
	}
	return broken("a frame that only a gate sends", e);
}

static int hear_all(struct gate *g, struct err *e)
{
	struct link *l = &g->link;
	struct frame frame;
	int found;

	while ((found = frames_next(&l->in, FRAMES_EGRESS, &frame, e)) > 0) {
		const size_t len = FRAME_HEADER + frame.len;
		if (hear(g, &frame, e) < 0)
			return -1;
		buffer_consume(&l->in, len);
	}
	return found;
}

int link_read(struct gate *g, struct err *e)
{
	struct link *l = &g->link;

	if (l->has_ended) {
		*e = l->why;
		return l->why.kind == ERR_NONE ? 0 : -1;
	}
	for (;;) {
		uint8_t bytes[4096];
		int fd;
		ssize_t n = fd_pass_receive(l->fd, bytes, sizeof(bytes), &fd);
		if (fd == FD_PASS_LOST)
			return err_set(e, ERR_LIMIT,
				       "the gate may open no more descriptors");
		if (fd >= 0 && l->fd_count == GATE_LINK_FDS) {
			own_close(&fd);
			return broken("descriptors without frames", e);
		}
		if (fd >= 0)
			l->fds[l->fd_count++] = fd;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 1;
		if (n < 0)
			return err_sys(e, "read from hutch-egress");
		if (n == 0)
			return 0;
		if (!buffer_append(&l->in, bytes, (size_t)n))
			return broken("more than can be held", e);
		if (hear_all(g, e) < 0)
			return -1;
	}
}

void link_catch_up(struct gate *g)
{
	struct err why = { .kind = ERR_NONE };

	if (!g->link.has_ended && link_read(g, &why) <= 0) {
		g->link.has_ended = true;
		g->link.why = why;
	}
}

/* --- what the gate says ------------------------------------------------------------- */

int link_say_hello(struct gate *g, struct err *e)
{
	if (g->has_hello)
		return 0;
	g->has_hello = true;
	return frames_put_hello(&g->link.out, e);
}

void link_tell(struct gate *g, const struct frames_event *event)
{
	struct err e;

	/* An event that finds no room is lost; the refusal stands. */
	if (buffer_len(&g->link.out) < LINK_EVENTS_MAX)
		(void)frames_put_event(&g->link.out, event, &e);
	/* hutch-egress has it before the guest sees the refusal, and so before a command
	 * inside ends because of it. */
	(void)link_flush(g, &e); /* an error comes again at the end of the turn */
}

int link_say_closed(struct gate *g, uint32_t id, struct err *e)
{
	const struct frames_close close = { .reason = REASON_NONE };

	return frames_put_close(&g->link.out, id, &close, e);
}

int link_flush(struct gate *g, struct err *e)
{
	struct link *l = &g->link;

	while (buffer_len(&l->out)) {
		ssize_t n = send(l->fd, buffer_data(&l->out), buffer_len(&l->out),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR
				       ? 0
				       : err_sys(e, "write to hutch-egress");
		buffer_consume(&l->out, (size_t)n);
	}
	return 0;
}
