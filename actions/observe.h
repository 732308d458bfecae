/* observe -- writes observations in OpenHands' shapes, one JSON line each.
 *
 * The texts are, to the letter, those that OpenHands' clients and their models
 * know (docs/actions.md).  hutch's own members are in one object, `hutch`, at
 * the top level, where clients drop keys that they do not know. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct action;
struct buffer;
struct done;
struct edited;
struct refused_call;
struct report;
struct returned;
struct stat_told;

struct observed {
	const struct action *action; /* the action that is answered; its id becomes
				      * `cause` */
	double took_ms;
	const void *content; /* the content as the executor sent it */
	size_t len;
	const void *previous; /* the rest of the previous command's output */
	size_t previous_len;
	bool has_previous;
	const struct stat_told *stat; /* facts about a file; NULL: none were asked for */
	const char *members; /* further members of the object `hutch` (observe_git.h);
			      * NULL: none */
	const char *log;    /* path inside of the log with a run's whole output; NULL:
			     * none */
	uint64_t dropped;   /* bytes of output that were left out (observe_output()) */
	uint64_t oom_limit; /* the limit in bytes at which the command was killed; 0:
			     * it was not */
	const struct denial *denials; /* things that were refused, other than system
				       * calls */
	size_t denial_count;
	const struct refused_call *refused; /* system calls refused while the action was
					     * under way */
	size_t refused_count;
};

/* One refusal: `what` was not done or not allowed, the layer that refused it,
 * and a remedy. `path`, `rule` and `remedy` may be NULL.  `sentence` is for the
 * model, behind the text of an error or in the suffix of a run; NULL: the text
 * says it all. */
struct denial {
	const char *what, *path, *layer, *rule, *remedy, *sentence;
};

/* Facts about the sandbox that the texts about a run need. */
struct sandbox_info {
	double soft_s;
	const char *username, *hostname; /* the names of the user and the machine
					  * inside */
	bool lints; /* the rootfs' linter checks edits */
};

void observe_run(struct buffer *out, const struct observed *o, const struct report *r,
		 const struct sandbox_info *s);
void observe_read(struct buffer *out, const struct observed *o, const struct done *d);
void observe_write(struct buffer *out, const struct observed *o, const struct done *d);
/* Writes the editor's answer to an `edit`, or to a `read` that the editor performed. */
void observe_edit(struct buffer *out, const struct observed *o, const struct edited *x);

/* Writes the answer to an errand: its result, or an error (observe_errand.c). */
void observe_errand(struct buffer *out, const struct observed *o,
		    const struct returned *x);
/* Writes the answer to an env action: names, never values.  `hidden` are the secrets
 * that are redacted from now on; `not_hidden` are those whose value is too short. */
struct list;
void observe_env(struct buffer *out, const struct observed *o, const struct list *hidden,
		 const struct list *not_hidden);

/* Writes the answer to an action that failed; `error_id` is "" or HUTCH$.... */
void observe_error(struct buffer *out, const struct observed *o, const char *error_id,
		   const char *text);

/* A question to the client whether an action may be done: an event of hutch act, or of
 * the control socket.  There `request` is the id of the action's request, as JSON;
 * else NULL. */
struct question {
	uint32_t number;
	const char *request, *action, *risk, *reason, *about; /* `about`, the part of the
							       * action in question, may
							       * be NULL */
};
void observe_ask(struct buffer *out, const struct observed *o, const struct question *q,
		 bool is_rpc);

/* Writes the answer to a cancel or a confirm that took effect. */
void observe_nothing(struct buffer *out, const struct observed *o);

/* Writes a command's output as it comes: no observation, but an event of --stream, or
 * a notification of the control socket. */
void observe_output(struct buffer *out, const struct observed *o, bool is_rpc);

/* Returns the type for a data: URL, by the file's name; NULL: the file is read as
 * text. */
const char *observe_mime(const char *path);
