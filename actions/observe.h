/* observe -- writes observations, the answers to actions, in the form that OpenHands
 * gives them: one line of JSON each.
 *
 * The texts are exactly those that OpenHands' clients and language models know
 * (docs/actions.md). Members that only hutch has are in one object, `hutch`, at the top
 * level, where clients ignore unknown keys. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct action;
struct buffer;
struct done;
struct edited;
struct refused_call;
struct refused_hosts;
struct report;
struct returned;
struct stat_result;

struct observed {
	const struct action *action; /* the action that is answered; its id becomes
				      * `cause` */
	double took_ms;
	const void *content; /* the content that the executor has sent */
	size_t len;
	const void *previous; /* the rest of the previous command's output, which the
			       * client has not seen */
	size_t previous_len;
	bool has_previous;
	const struct stat_result *stat; /* the file's metadata; NULL: the action did not
				       * ask for it */
	const char *members; /* more members for the object `hutch`, as JSON
			      * (observe_git.h); NULL: none */
	const char *log;    /* the path, in the sandbox, of the log with the command's
			     * whole output; NULL: none */
	uint64_t dropped;   /* bytes of output that the client was not sent
			     * (observe_output()) */
	uint64_t oom_limit; /* the memory limit in bytes, if the command was killed
			     * because of it; else 0 */
	const struct denial *denials; /* things other than system calls that the sandbox
				       * refused */
	size_t denial_count;
	const struct refused_call *refused; /* system calls that were refused while the
					     * action ran */
	size_t refused_count;
	const struct refused_hosts *hosts; /* hosts that rules refused meanwhile; NULL:
					    * none */
};

/* A refusal: `what` names the action, `layer` the layer that refused it, and `remedy` a
 * way out. `path`, `rule` and `remedy` may be NULL. `sentence` is added for the model
 * behind an error text, or in the suffix of a run; NULL: nothing is added. */
struct denial {
	const char *what, *path, *layer, *rule, *remedy, *sentence;
};

/* Facts about the sandbox for the answers to commands. */
struct sandbox_info {
	double soft_s;
	const char *username, *hostname; /* the names of the user and of the host in the
					  * sandbox */
	bool lints; /* edits are checked with a linter of the rootfs */
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
/* Writes the answer to an env action; it has the names of variables, never values.
 * `hidden` are the secrets that are redacted from now on; `not_hidden` are those with
 * too short a value. */
struct list;
void observe_env(struct buffer *out, const struct observed *o, const struct list *hidden,
		 const struct list *not_hidden);

/* Writes the answer to an action that failed; `error_id` is "", or begins with
 * "HUTCH$". */
void observe_error(struct buffer *out, const struct observed *o, const char *error_id,
		   const char *text);

/* A question to a client whether an action may be done. It is sent as an event of `hutch
 * act`, or on the control socket; only there `request` is not NULL: it is the id of the
 * request, as JSON. */
struct question {
	uint32_t number;
	const char *request, *action, *risk, *reason, *about; /* `about` is the part of
							       * the action in question;
							       * may be NULL */
};
void observe_ask(struct buffer *out, const struct observed *o, const struct question *q,
		 bool is_rpc);

/* Writes the answer to a cancel or confirm that was done; it has no content. */
void observe_nothing(struct buffer *out, const struct observed *o);

/* Writes a piece of a running command's output: an event of `hutch act --stream`, or a
 * notification on the control socket. */
void observe_output(struct buffer *out, const struct observed *o, bool is_rpc);

/* Returns the media type for a file's name, with which the file is read as a data: URL;
 * NULL: the file is read as text. */
const char *observe_mime(const char *path);
