/* rules -- judge an agent's actions before they are done.
 *
 * A rule is a JSON object (docs/hutch-policy.md, "Rules"): the actions that it is
 * about, and a decision.  Among the rules that match an action, the last one decides;
 * without a match the action is allowed.  In a `run`, each command is judged by
 * itself (policy/commands.h), and the strictest verdict holds, with the reason of the
 * one with the highest risk.  A text that hides a command is asked about.
 *
 * Rules only advise: the words of a command do not tell what its program does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

#define RULES_MAX 4096
/* A `run` with a longer text is not judged but counts as too much, and so does one
 * whose number of words times the number of rules exceeds the second bound. */
#define RULES_TEXT_MAX (256u << 10)
#define RULES_WORK_MAX (4u << 20)

enum decision { DECISION_ALLOW, DECISION_ASK, DECISION_DENY };
enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH };

/* Checks that the text is a valid rule. */
int rules_check(const char *rule, struct err *e);

struct rules;

/* Compiles texts that have been checked; NULL: there are none. */
struct rules *rules_new(const struct list *texts);
void rules_free(struct rules *r);

/* An action that is to be judged; fields that it does not have are NULL or 0. */
struct deed {
	const char *action;  /* the action's name, "run", "write", ...: docs/actions.md */
	const char *command; /* the command of a run */
	const char *same;    /* a command with the same effect; rules about it apply,
			      * too */
	const char *path, *other; /* the path; of a move: from, to */
	const char *cwd;     /* absolute: where relative paths begin */
	uint64_t size;	     /* number of bytes that a write writes */
	bool is_typed;	     /* the command is typed to a running program, on a
			      * terminal */
	bool reads;	     /* the action shows the content of files: rules about
			      * `read` apply, too */
};

struct verdict {
	enum decision decision;
	enum risk risk;
	const char *reason; /* borrowed from the rules, or from `why`; "" without a rule */
	const char *rule;   /* the rule's text, borrowed; NULL: no rule matched */
	struct list about;  /* the commands with this verdict; empty: the whole action */
	char *why; /* owned; a reason that no rule gives; NULL: there is none */
};

/* Judges an action.  The caller must call verdict_done(). */
void rules_judge(const struct rules *r, const struct deed *d, struct verdict *ret);
void verdict_done(struct verdict *v);

const char *risk_name(enum risk risk);
