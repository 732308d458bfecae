/* client -- one connection of a client, which is one request.
 *
 *	head -> decide.h -> the router answers (client_reply.c)
 *			 -> all pods are asked, and the answers become one (client_ask.c)
 *			 -> a pod is connected to, and bytes go both ways until the end
 *			    (client_pass.c)
 *
 * The pod gets the head anew (request_write), and of the bytes behind it those alone that
 * are the request's body, so that no second request reaches it unseen.  The body and the
 * answer pass unread.  A client that half-closes its connection half-closes the pod's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "egress/http_head.h"
#include "gateway/loop.h"
#include "gateway/route/decide.h"
#include "gateway/route/phase.h"

struct asks;
struct dial;
struct front;

struct client {
	struct front *front;
	struct client *next, **back;
	enum phase phase;
	int64_t began; /* of the phase */
	bool is_inside;
	struct watch in, out;		/* fds: owned; out: the pod's, or -1 */
	uint32_t in_events, out_events; /* for which they are watched; 0: they are not */
	struct buffer asked; /* the bytes of the request, until a pod is connected */
	struct http_head head;
	struct http_body body;
	struct decision decision;
	bool is_chosen;	   /* `decision` is made, and owns */
	bool is_coming;	   /* it is counted in front->coming of its pod */
	bool has_turn;	   /* requests that start the same session wait for this one */
	struct dial *dial; /* NULL: none is under way */
	struct timer again;
	struct asks *asks;	/* owned; NULL: no pods are asked */
	struct buffer up, down; /* bytes that the pod, and the client, do not take yet */
	bool up_done;	 /* the body has ended, or the client or the pod takes no more */
	bool in_closed;	 /* the client sends no more */
	bool has_answer; /* bytes of an answer have gone to the client */
};

/* Takes a connection over.  `is_inside`: it came by --metrics. */
void client_begin(struct front *f, int fd, bool is_inside);

/* Ends requests that take longer than phase.h allows. */
void clients_expire(struct front *f, int64_t now);

/* Ends all of them. */
void clients_end(struct front *f);

/* --- for the parts of a client ---------------------------------------------------- */

void client_enter(struct client *c, enum phase p);
/* Releases all of it. */
void client_end(struct client *c);
void client_close_pod(struct client *c);
/* Watches both sides for what the phase and the waiting bytes ask for. */
void client_watch(struct client *c);

/* Answers, and lets the client read that before the connection is closed.  `c` may be
 * gone behind each of these calls.  `more`: further fields, each with its line end. */
void client_reply(struct client *c, unsigned status, const char *type, const char *more,
		  const void *bytes, size_t len);
void client_refuse(struct client *c, unsigned status, const char *text);
/* The pod could not be connected to in time. */
void client_refuse_pod(struct client *c);
/* The same with the bytes in `down`, or with those that the client has. */
void client_finish(struct client *c);
/* Writes what waits for a side.  Returns whether the side still takes bytes. */
bool client_flush(struct buffer *b, int fd);

/* Connects to the pod of the decision, and passes bytes. */
void client_dial(struct client *c);
/* The same for another pod; the answers of those that were asked are dropped. */
void client_go_to(struct client *c, int pod);
/* The client's socket is ready, in PHASE_PASS. */
void client_pass(struct client *c, uint32_t events);

/* Two requests that start one session at once would both find it in no pod, and start it
 * in two.  client_take_turn() returns false where another request has the turn: then the
 * client waits in PHASE_TURN for client_end_turn(), which calls client_ask() for it. */
bool client_take_turn(struct client *c);
void client_end_turn(struct client *c);

/* Asks all pods for a DECIDE_FIND, DECIDE_MERGE or DECIDE_START. */
void client_ask(struct client *c);
