/* observe -- observations, in the reference's shapes, one JSON line each.
 *
 * The texts are those that OpenHands' clients and their models know, to the letter
 * (docs/actions.md).  What is ours is in one object, `hutch`, at the top level,
 * where clients drop what they do not know. */
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
	const struct action *action; /* what was asked; its id becomes `cause` */
	double took_ms;
	const void *content; /* as it came from inside */
	size_t len;
	const void *previous; /* the rest of the command before */
	size_t previous_len;
	bool has_previous;
	const struct stat_told *stat; /* NULL: none was asked for */
	const struct buffer *members; /* more of `hutch` (observe_git.h); NULL: none */
	const char *log;    /* the file inside that has all of a run's output; NULL: none */
	uint64_t dropped;   /* bytes, instead of a content (observe_output) */
	uint64_t oom_limit; /* bytes: it was killed at this limit; 0: it was not */
	const struct refusal *refusals; /* what was refused of it, but for these */
	size_t refusal_count;
	const struct refused_call *refused; /* system calls, while it was under way */
	size_t refused_count;
};

/* What was not done, or not let, by which layer of what protects, and what would help;
 * `path`, `rule` and `remedy` may be NULL.  `sentence`: for the model, behind the text of
 * an error, or in the suffix of a run; NULL: that says it all. */
struct refusal {
	const char *what, *path, *layer, *rule, *remedy, *sentence;
};

/* What the texts about a run need to know beside it. */
struct setting {
	double soft_s;
	const char *username, *hostname; /* inside */
	bool lints; /* the rootfs' linter is asked about edits */
};

void observe_run(struct buffer *out, const struct observed *o, const struct report *r,
		 const struct setting *s);
void observe_read(struct buffer *out, const struct observed *o, const struct done *d);
void observe_write(struct buffer *out, const struct observed *o, const struct done *d);
/* What the editor said: an `edit`, or a `read` that it was asked for. */
void observe_edit(struct buffer *out, const struct observed *o, const struct edited *x);

/* What came of an errand: it, or an error (observe_errand.c). */
void observe_errand(struct buffer *out, const struct observed *o,
		    const struct returned *x);
/* What was changed of the environment: names, never values.  Secrets: which are hidden
 * from now on, and which are too short for it. */
struct list;
void observe_env(struct buffer *out, const struct observed *o, const struct list *hidden,
		 const struct list *not_hidden);

/* An action that came to nothing; `error_id` is "" or HUTCH$.... */
void observe_error(struct buffer *out, const struct observed *o, const char *error_id,
		   const char *text);

/* Whether an action may be done is asked: an event of hutch act, or of the control socket,
 * where `request` is the id of its request, as JSON; else NULL. */
struct question {
	uint32_t number;
	const char *request, *action, *risk, *reason, *about; /* `about`: may be NULL */
};
void observe_ask(struct buffer *out, const struct observed *o, const struct question *q,
		 bool is_rpc);

/* A cancel or a confirm that was passed on. */
void observe_nothing(struct buffer *out, const struct observed *o);

/* What is printed, as it comes: not an observation, but an event of --stream, or a
 * notification of the control socket. */
void observe_output(struct buffer *out, const struct observed *o, bool is_rpc);

/* The type in a data: URL for the file's name, or NULL where it is read as text. */
const char *observe_mime(const char *path);
