/* egress_message -- any message between gate and egress as one value, for tests that
 * treat all of them alike. */
#pragma once
#include <stdint.h>

#include "base/frame.h"
#include "egress/frames.h"

struct egress_message {
	uint32_t type; /* enum frames_type */
	uint32_t id;   /* not used by HELLO, EVENT, and SET, which has a generation */
	union {
		struct frames_open open;
		struct frames_ok ok;
		struct frames_no no;
		struct frames_close close;
		uint32_t cut; /* enum reason */
		const char *resolve;
		uint32_t resolved; /* enum frames_outcome */
		struct frames_set set;
		struct frames_event event;
	};
};

static inline int egress_message_put(struct buffer *b, const struct egress_message *m,
				     struct err *e)
{
	switch (m->type) {
	case FRAMES_HELLO:
		return frames_put_hello(b, e);
	case FRAMES_OPEN:
		return frames_put_open(b, m->id, &m->open, e);
	case FRAMES_OK:
		return frames_put_ok(b, m->id, &m->ok, e);
	case FRAMES_NO:
		return frames_put_no(b, m->id, &m->no, e);
	case FRAMES_CLOSE:
		return frames_put_close(b, m->id, &m->close, e);
	case FRAMES_CUT:
		return frames_put_cut(b, m->id, (enum reason)m->cut, e);
	case FRAMES_RESOLVE:
		return frames_put_resolve(b, m->id, m->resolve, e);
	case FRAMES_RESOLVED:
		return frames_put_resolved(b, m->id, (enum frames_outcome)m->resolved, e);
	case FRAMES_SET:
		return frames_put_set(b, &m->set, e);
	case FRAMES_EVENT:
		return frames_put_event(b, &m->event, e);
	default:
		return -1;
	}
}

/* Decodes a frame by the decoder of a type, whatever the frame's own type is. */
static inline int egress_message_get(const struct frame *f, uint32_t type,
				     struct egress_message *ret, struct err *e)
{
	*ret = (struct egress_message){ .type = type, .id = f->id };
	switch (type) {
	case FRAMES_HELLO:
		return frames_get_hello(f, e);
	case FRAMES_OPEN:
		return frames_get_open(f, &ret->open, e);
	case FRAMES_OK:
		return frames_get_ok(f, &ret->ok, e);
	case FRAMES_NO:
		return frames_get_no(f, &ret->no, e);
	case FRAMES_CLOSE:
		return frames_get_close(f, &ret->close, e);
	case FRAMES_CUT:
		return frames_get_cut(f, &ret->cut, e);
	case FRAMES_RESOLVE:
		return frames_get_resolve(f, &ret->resolve, e);
	case FRAMES_RESOLVED:
		return frames_get_resolved(f, &ret->resolved, e);
	case FRAMES_SET:
		return frames_get_set(f, &ret->set, e);
	case FRAMES_EVENT:
		return frames_get_event(f, &ret->event, e);
	default:
		return -1;
	}
}
