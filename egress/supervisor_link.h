/* supervisor_link -- the lines of JSON between hutch-egress and the supervisor of its
 * sandbox, which is trusted.
 *
 * The supervisor sends:
 *
 *	{"rules":[{"allow":"pypi.org"},...],"ask_ms":30000,"upstream":null}	first, once
 *	{"set":{"rules":[...]}}			later: these rules instead
 *	{"answer":{"id":1,"allow":true,"for":"once"}}	or "sandbox"
 *	{"list":"connections"}
 *	{"sync":7}				has it told all that the gate had sent?
 *
 * "default":"deny" may stand beside rules, and "ask_ms" and "upstream" may be left out.
 * hutch-egress sends:
 *
 *	{"ready":{"rules":2}}			the settings are in force
 *	{"set":{"rules":1,"cut":3}}		so are new rules, which cut 3 connections
 *	{"answered":{"id":1}}			an answer was taken
 *	{"connections":{"open":300,"newest":[{"id","name","address","port","since","up",
 *	 "down"},...]}}				the newest first; `since` is in ms since 1970
 *	{"synced":7}				all that the gate had sent is told
 *	{"error":{"text":"..."}}		a line was refused; nothing has changed
 *	{"ask":{"id":1,"name":"a.org","port":443}}
 *	{"net":{...}}				a decision (net_line.h)
 *	{"dropped":5}				so many lines were lost before this one
 *
 * The settings are read when the gate needs rules (its HELLO), or with the supervisor's
 * next line: most sandboxes that live briefly need none.
 *
 * Each line of the supervisor gets one of the first six, in order; but that to "sync" may
 * come later than those to later lines, and a later "sync" takes the place of one that
 * waits.
 *
 * A supervisor that does not read loses lines and nothing else: SUPERVISOR_LINK_SEND_MAX
 * bytes wait, and lines beyond them are dropped and counted.  The last
 * SUPERVISOR_LINK_REPLY_MAX of these bytes are for replies alone, so that a supervisor
 * which sends one line at a time, and awaits its reply, loses no reply. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/egress/egress_rules.h"

struct err;

#define SUPERVISOR_LINK_READ_MAX (1u << 20)   /* bytes of a line */
#define SUPERVISOR_LINK_SEND_MAX (256u << 10) /* bytes that wait to be read */
#define SUPERVISOR_LINK_REPLY_MAX 8192	       /* bytes of a reply */

#define SUPERVISOR_LINK_ASK_MS 30000 /* if the settings do not say "ask_ms" */

struct supervisor_link {
	int socket; /* borrowed */
	struct buffer in, out;
	uint64_t dropped; /* lines, since the last line that was queued */
};

void supervisor_link_init(struct supervisor_link *s, int socket);
void supervisor_link_done(struct supervisor_link *s);

/* Queue a line, complete with its "\n".  False: it was dropped. */
bool supervisor_link_say(struct supervisor_link *s, const char *line, size_t len);
/* The same for the reply to a line of the supervisor. */
bool supervisor_link_reply(struct supervisor_link *s, const char *line, size_t len);

/* Returns how many bytes a reply may have now; SUPERVISOR_LINK_REPLY_MAX at least, if the
 * reply before it was read. */
size_t supervisor_link_room(const struct supervisor_link *s);

/* Sends what the socket takes.  -1: the supervisor has gone. */
int supervisor_link_send(struct supervisor_link *s);
bool supervisor_link_is_full(const struct supervisor_link *s);

/* Reads what has come.  1: perhaps a line; 0: the supervisor has closed its end; -1: the
 * socket failed. */
int supervisor_link_read(struct supervisor_link *s, struct err *e);

enum order_kind { ORDER_SETTINGS, ORDER_SET, ORDER_ANSWER, ORDER_LIST, ORDER_SYNC };

struct order {
	enum order_kind kind;
	struct egress_rules rules; /* owned: of SETTINGS and SET; order_done() */
	int64_t ask_ms;		   /* of SETTINGS */
	uint32_t id;		   /* of ANSWER and SYNC */
	/* of ANSWER: */
	bool is_allowed, is_for_sandbox;
};

/* Returns whether exactly one line has come, and nothing behind it. */
bool supervisor_link_has_one(const struct supervisor_link *s);

/* Takes the next line out of what was read, and reads it.  1: *ret is filled in; 0: there
 * is no whole line; -1: the line is refused (ERR_LIMIT: the line is too long, and no
 * later one can be found). */
int supervisor_link_next(struct supervisor_link *s, struct order *ret, struct err *e);

/* Reads one line, without its "\n". */
int order_read(const char *line, size_t len, struct order *ret, struct err *e);
void order_done(struct order *o);
