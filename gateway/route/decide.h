/* decide -- to which pod a request goes.
 *
 * The id of a sandbox names its pod (gateway/box_id.h).  It stands in the path, in the
 * field E2b-Sandbox-Id, in the Host, or in the body of a small request:
 *
 *	/ID/..., /runtime/ID, /v1/sandboxes/ID..., /sandboxes/ID...	POD
 *	/pause, /resume, /stop			BODY, then POD
 *	/sessions/SESSION, the client's name	FIND: each pod is asked
 *	/start, and others that make a sandbox	BODY, then START
 *	lists					MERGE: each pod is asked
 *	requests that each pod answers alike	ANY
 *
 * Nothing here reads a socket or a clock. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gateway/route/merge.h"
#include "gateway/route/request.h"

struct pods;

#define DECIDE_START_MAX \
	(1u << 20)	     /* bytes of the body of /start, as hutch serve takes */
#define DECIDE_BODY_MAX 4096 /* of those that name a sandbox */

enum decision_kind {
	DECIDE_ANSWER, /* the router answers with `status` and `text` */
	DECIDE_OWN,    /* /metrics */
	DECIDE_BODY,   /* the body must be there first, of up to `body_max` bytes */
	DECIDE_POD,
	DECIDE_ANY,
	DECIDE_FIND,
	DECIDE_START,
	DECIDE_MERGE,
	DECISION_KINDS
};

/* The form of an error. */
enum decide_form { FORM_DETAIL, FORM_E2B };

struct decision {
	enum decision_kind kind;
	enum decide_form form;
	unsigned status;  /* of an answer; else: if the pod breaks off */
	unsigned away;	  /* if the pod cannot be connected to */
	const char *text; /* with ANSWER: the reason, or NULL: {"status":"ok"} */
	size_t body_max;
	int pod;
	enum merge_form merge;
	char *session; /* owned: with START: percent-encoded, or NULL: none is named */
};

/* Decides by the head, and by the body where that is there already (NULL: it is not).
 * `is_inside`: the request came by --metrics. */
void decide(const struct pods *pods, const struct request *r, const char *body,
	    size_t len, bool is_inside, struct decision *ret);
void decision_done(struct decision *d);
