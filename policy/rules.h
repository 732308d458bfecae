/* rules -- judges an agent's actions before they are done.
 *
 * A rule is a JSON object (docs/hutch-policy.md, "Rules") with conditions on an action
 * and a decision.  The last rule that matches an action decides; if none matches, the
 * action is allowed.  In a `run`, each command of the text is judged separately
 * (policy/commands.h), and the strictest verdict is taken, with the reason that has the
 * highest risk.  If a text runs a command that cannot be seen in it, the verdict is
 * "ask".
 *
 * Rules are no protection, only advice: the words of a command do not tell what its
 * program does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

#define RULES_MAX 4096
/* The bounds on a `run`: the length of its text, and the number of its words times the
 * number of rules.  Beyond either bound it is not judged, and the verdict is "ask". */
#define RULES_TEXT_MAX (256u << 10)
#define RULES_WORK_MAX (4u << 20)

enum decision { DECISION_ALLOW, DECISION_ASK, DECISION_DENY };
enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH };

/* Checks that the text is a valid rule. */
int rules_check(const char *rule, struct err *e);

struct rules;

/* Compiles texts that rules_check() has accepted.  Returns NULL if there are none. */
struct rules *rules_new(const struct list *texts);
void rules_free(struct rules *r);

/* An action to be judged; fields that do not apply to it are NULL or 0. */
struct deed {
	const char *action;  /* the action's name, "run", "write", ...: docs/actions.md */
	const char *command; /* the command of a run */
	const char *same;    /* a command that has the same effect; rules that match it
			      * apply too */
	const char *path, *other; /* the path; for a move: its source and target */
	const char *cwd;     /* absolute: the folder to which relative paths are
			      * relative */
	uint64_t size;	     /* number of bytes that a write writes */
	bool is_typed;	     /* the command is typed into a running program, on a
			      * terminal */
	bool reads;	     /* the action returns the content of files, so rules about
			      * `read` apply too */
};

struct verdict {
	enum decision decision;
	enum risk risk;
	const char *reason; /* borrowed from the rules, or from `why`; "" if no rule
			     * matched */
	const char *rule;   /* the rule's text, borrowed; NULL: no rule matched */
	struct list about;  /* the commands to which this verdict applies; empty: the
			     * whole action */
	char *why; /* owned; a reason that is in no rule; NULL: there is none */
};

/* Judges an action.  The caller must call verdict_done(). */
void rules_judge(const struct rules *r, const struct deed *d, struct verdict *ret);
void verdict_done(struct verdict *v);

const char *risk_name(enum risk risk);
