/* frames -- the messages between hutch-gate and hutch-egress.
 *
 * They are frames of base/frame.h, FRAMES_MAX bytes at most, on a socketpair.  Either
 * process takes the other for hostile: the gate because it reads the guest's bytes,
 * hutch-egress because it reads those of the network.  So each decoder refuses a field
 * that is missing, left over or out of its range; frames_next() refuses a type that the
 * sender may not send; after a refusal the channel is closed, and with it every
 * connection.
 *
 *	gate			hutch-egress
 *			◀───  HELLO(version)		it is confined
 *	HELLO(version)  ───▶				the guest has begun to ask
 *			◀───  SET(generation, index, count, rule)	rules
 *	OPEN(name | address, port, ...)  ───▶
 *			◀───  OK(address, cname, rule) + 1 descriptor
 *			◀───  NO(reason, rule)
 *	CLOSE(reason, bytes)  ───▶			only after OK
 *			◀───  CUT(reason)		the gate resets it, then CLOSE
 *	RESOLVE(name)  ───▶  ◀───  RESOLVED(outcome)
 *	EVENT(...)  ───▶				what the gate itself refused
 *
 * HELLO is the first message of each.  The gate sends its own, and reads nothing of the
 * guest's before rules have come; SET may also come by itself.
 *
 * The id in a frame's header is the connection's or the question's, chosen by the gate,
 * 1 at least; in SET it is the set's generation; in HELLO and EVENT it is 0.  An id that
 * is not open is for the receiver to refuse: a decoder knows no state.
 *
 * Encoders give a frame to a buffer; texts that are decoded are borrowed from the frame,
 * end with a NUL, and are printable ASCII without blanks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/reason.h"

#define FRAMES_VERSION	  3
#define FRAMES_MAX	  1024 /* bytes of a frame, with its header */
#define FRAMES_NAME_MAX	  253
#define FRAMES_ALPN_MAX	  127
#define FRAMES_TARGET_MAX 320 /* bytes of a rule's target */
#define FRAMES_RULES_MAX  4096 /* rules in a set */
#define FRAMES_NO_RULE	  UINT32_MAX /* where no rule has decided */

enum frames_type {
	FRAMES_NONE,
	FRAMES_HELLO,
	FRAMES_OPEN,
	FRAMES_OK,
	FRAMES_NO,
	FRAMES_CLOSE,
	FRAMES_CUT,
	FRAMES_RESOLVE,
	FRAMES_RESOLVED,
	FRAMES_SET,
	FRAMES_EVENT,
	FRAMES_COUNT
};

enum frames_side { FRAMES_GATE, FRAMES_EGRESS };

/* How the gate reads the guest's bytes of a connection. */
enum frames_proto {
	FRAMES_OPAQUE, /* not at all: the rule names the port */
	FRAMES_TLS,    /* it has read the ClientHello */
	FRAMES_HTTP,   /* it reads each head */
	FRAMES_PROTO_COUNT
};

struct buffer;
struct err;
struct frame;

struct frames_address {
	uint8_t bytes[16]; /* network order; v4 in the first 4 */
	uint32_t len;	   /* 4, 16, or 0: there is none */
};

struct frames_open {
	const char *name;	       /* normalised; "": the address is the goal */
	struct frames_address address; /* a literal of the guest's; none with a name */
	uint32_t port;		       /* 1 to 65535 */
	uint32_t proto;		       /* enum frames_proto */
	uint32_t rule; /* the gate's own opinion, for comparison; or FRAMES_NO_RULE */
	const char *sni, *alpn; /* of the ClientHello, for the audit; "" else */
};

struct frames_ok {
	struct frames_address address; /* the one that is connected; never none */
	const char *cname; /* for the audit: the name's alias; "": it has none */
	uint32_t rule;	   /* never FRAMES_NO_RULE */
};

struct frames_no {
	uint32_t reason; /* enum reason; never REASON_NONE */
	uint32_t rule;	 /* the rule that denied it, or FRAMES_NO_RULE */
};

struct frames_close {
	uint32_t reason; /* REASON_NONE: it has ended by itself */
	uint64_t up, down; /* bytes from the guest, and to it */
};

/* An answer to RESOLVE. */
enum frames_outcome {
	FRAMES_FOUND,	 /* the name has an address that may be tried */
	FRAMES_EMPTY,	 /* the name exists and has none, or the lookup failed */
	FRAMES_NXDOMAIN, /* the name does not exist */
	FRAMES_OUTCOME_COUNT
};

/* One rule of a new set.  The set is in force when its last rule has come; an empty set
 * is one frame with count 0 and index 0. */
struct frames_set {
	uint32_t generation; /* 1 at least */
	uint32_t index;	     /* below `count`, in order */
	uint32_t count;
	/* The members of struct egress_word; those of an empty set are 0 and "". */
	uint32_t verdict;     /* enum egress_verdict */
	uint32_t has_any_tls; /* 0 or 1 */
	const char *target;   /* no preset */
	const char *as;	      /* "": no other name */
};

struct frames_event {
	uint32_t reason; /* enum reason; REASON_NONE: allowed by the gate */
	uint32_t rule;	 /* or FRAMES_NO_RULE */
	const char *name; /* "": none is known */
	struct frames_address address;
	uint32_t port;	   /* 0: a question to the resolver */
	const char *sni; /* what TLS or Host asked for, with odd bytes as '?' */
	uint32_t count;	 /* how many of one kind this event stands for, 1 at least */
};

/* Looks for a whole frame that `sender` may send at the start of `b`, like frame_next().
 * Returns 1, 0, or -1 (ERR_PROTOCOL).  The caller consumes FRAME_HEADER + ret->len. */
int frames_next(const struct buffer *b, enum frames_side sender, struct frame *ret,
		struct err *e);

/* Returns how many descriptors must come with a frame of this type: 1 for OK, else 0. */
unsigned frames_descriptors(uint32_t type);

/* Returns the type's name, such as "open"; an unknown number gives "unknown". */
const char *frames_name(uint32_t type);

/* Encoders return -1 for values that the other side would refuse, and then add nothing;
 * decoders return -1 (ERR_PROTOCOL), and *ret is then undefined. */
int frames_put_hello(struct buffer *b, struct err *e);
int frames_get_hello(const struct frame *f, struct err *e);
int frames_put_open(struct buffer *b, uint32_t id, const struct frames_open *x,
		    struct err *e);
int frames_get_open(const struct frame *f, struct frames_open *ret, struct err *e);
int frames_put_ok(struct buffer *b, uint32_t id, const struct frames_ok *x,
		  struct err *e);
int frames_get_ok(const struct frame *f, struct frames_ok *ret, struct err *e);
int frames_put_no(struct buffer *b, uint32_t id, const struct frames_no *x,
		  struct err *e);
int frames_get_no(const struct frame *f, struct frames_no *ret, struct err *e);
int frames_put_close(struct buffer *b, uint32_t id, const struct frames_close *x,
		     struct err *e);
int frames_get_close(const struct frame *f, struct frames_close *ret, struct err *e);
int frames_put_cut(struct buffer *b, uint32_t id, enum reason reason, struct err *e);
int frames_get_cut(const struct frame *f, uint32_t *ret_reason, struct err *e);
int frames_put_resolve(struct buffer *b, uint32_t id, const char *name, struct err *e);
int frames_get_resolve(const struct frame *f, const char **ret_name, struct err *e);
int frames_put_resolved(struct buffer *b, uint32_t id, enum frames_outcome outcome,
			struct err *e);
int frames_get_resolved(const struct frame *f, uint32_t *ret_outcome, struct err *e);
int frames_put_set(struct buffer *b, const struct frames_set *x, struct err *e);
int frames_get_set(const struct frame *f, struct frames_set *ret, struct err *e);
int frames_put_event(struct buffer *b, const struct frames_event *x, struct err *e);
int frames_get_event(const struct frame *f, struct frames_event *ret, struct err *e);
