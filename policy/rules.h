/* rules -- what an agent's actions are judged by before they are done.
 *
 * A rule is a JSON object (docs/hutch-policy.md, "Rules"): what it is about, and what is
 * decided.  Of the rules that an action meets the last one decides; without one it is
 * allowed.  Of a `run` each command is judged by itself (policy/commands.h), and the
 * strictest verdict holds, with the reason of the one with the highest risk.
 *
 * Rules advise: what a program does is not in its words. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

#define RULES_MAX 4096
/* A longer `run` is too much to be judged, and so is one of too many words for so many
 * rules: the product of them. */
#define RULES_TEXT_MAX (256u << 10)
#define RULES_WORK_MAX (4u << 20)

enum decision { DECISION_ALLOW, DECISION_ASK, DECISION_DENY };
enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH };

/* Whether the text is a rule. */
int rules_check(const char *rule, struct err *e);

struct rules;

/* Of texts that have been checked; NULL: there are none. */
struct rules *rules_new(const struct list *texts);
void rules_free(struct rules *r);

/* What is to be done; what it has not is NULL or 0. */
struct deed {
	const char *action;  /* "run", "write", ...: docs/actions.md */
	const char *command; /* of a run */
	const char *same;    /* a command that would do the same; rules about it count, too */
	const char *path, *other; /* of a move: from, to */
	const char *cwd;     /* absolute: where relative paths begin */
	uint64_t size;	     /* bytes that are written */
	bool is_typed;	     /* the command goes to what runs, on a terminal */
	bool reads;	     /* it tells what is in files: rules about `read` count, too */
};

struct verdict {
	enum decision decision;
	enum risk risk;
	const char *reason; /* borrowed from the rules; "" without a rule */
	const char *rule;   /* its text, borrowed; NULL: none */
	struct list about;  /* the commands that are decided so; none: all of it */
};

/* verdict_done() is due. */
void rules_judge(const struct rules *r, const struct deed *d, struct verdict *ret);
void verdict_done(struct verdict *v);

const char *risk_name(enum risk risk);
