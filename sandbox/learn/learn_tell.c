#include <stdio.h>
#include <string.h>

#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "policy/egress/egress_rule.h"
#include "policy/egress_policy.h"
#include "sandbox/launch/result.h"
#include "sandbox/learn/learn.h"
#include "sandbox/learn/learn_paths.h"
#include "sandbox/monitor/denials.h"

#define SHOWN 10 /* paths that are printed of each kind; the others are only counted */

static void line(const char *what, const char *about)
{
	AUTO_FREE char *safe = term_escape_line(what); /* escaped, since a process
							* inside may have chosen this
							* text */

	note_print("%s%s", safe, about);
}

static void tell_more(size_t count, const char *what)
{
	if (count > SHOWN)
		note_print("note: %zu more %s", count - SHOWN, what);
}

static void tell_wishes(const struct learn *l, const struct wishes *w)
{
	static const char *const words[] = { [WISH_EMPTY] = "an empty folder",
					     [WISH_READ] = "read",
					     [WISH_WRITE] = "read, written" };
	AUTO_FREE char *out = term_escape_line(l->out);

	note_print("learned: %s shows %zu path%s of this host beside what every sandbox "
		   "has; look at the policy before you use it", out, w->count,
		   w->count == 1 ? "" : "s");
	for (size_t i = 0; i < w->count && i < SHOWN; i++) {
		const struct wish *one = &w->items[i];
		AUTO_FREE char *what = text_format("  %s%s (%s)", one->path,
						   one->is_folder ? "/" : "",
						   words[one->mode]);
		line(what, "");
	}
	tell_more(w->count, "paths are in the policy");
}

static void tell_secrets(const struct wishes *w)
{
	for (size_t i = 0; i < w->secrets.count && i < SHOWN; i++) {
		AUTO_FREE char *what =
			text_format("note: %s, which may be a secret, is in the policy",
				    w->secrets.items[i]);
		line(what, ": take it out unless it is meant");
	}
	tell_more(w->secrets.count, "that may be secrets are in the policy");
}

static void tell_later(const struct wishes *w)
{
	for (size_t i = 0; i < w->later.count && i < SHOWN; i++) {
		AUTO_FREE char *what = text_format(
			"note: %s, which runs or is obeyed outside of the sandbox "
			"later, can be written to with the policy",
			w->later.items[i]);
		line(what, ": make it \":ro\", or take it out, unless it is meant");
	}
	tell_more(w->later.count, "that run later can be written to with the policy");
}

static void tell_left(const struct wishes *w)
{
	static const char *const words[] = {
		[LEFT_WIDE] =
			"is not in the policy: it is, or holds, what is never shown whole",
		[LEFT_MADE] =
			("was made or replaced in a folder that is never shown whole: make it "
			 "on this host and learn again, or show it with -v"),
		[LEFT_CLOSED] = "is not in the policy: you may not read it",
		[LEFT_AUTO] =
			"is not in the policy: it is an automounter's, and was not looked at",
		[LEFT_SPECIAL] =
			"is not in the policy: it is a socket, a FIFO or a device",
		[LEFT_NAME] = "is not in the policy: no policy can say that name",
		[LEFT_OWN] = "is not in the policy: it is hutch's own",
		[LEFT_KERNEL] = "is not in the policy: no sandbox shows this host's",
		[LEFT_MANY] = "is not in the policy: there are too many",
	};
	_Static_assert(ARRAY_LEN(words) == LEFT_COUNT, "a reason has no words");

	for (size_t why = 0; why < LEFT_COUNT; why++) {
		for (size_t i = 0; i < w->left[why].count && i < SHOWN; i++) {
			AUTO_FREE char *what = text_format(
				"note: %s %s", w->left[why].items[i], words[why]);
			line(what, "");
		}
		tell_more(w->left[why].count, "are not in the policy for that reason");
	}
}

static bool is_loopback(const char *address)
{
	return !strncmp(address, "127.", 4) || !strncmp(address, "[::1]", 5);
}

/* Returns whether the address is one of those that hutch-gate gives for names, or its
 * own: the rules have judged the name. */
static bool is_of_gate(const struct learn *l, const char *at)
{
	return l->asked->network == NETWORK_ALLOW &&
	       (!strncmp(at, "198.18.", 7) || !strncmp(at, "198.19.", 7) ||
		!strcmp(at, EGRESS_RESOLVER ":53"));
}

static void tell_address(const char *at)
{
	AUTO_FREE char *what = text_format("note: it tried to connect to %s", at);
	AUTO_FREE char *about =
		!strncmp(at, "unix:", 5)
			? text_copy(": it is not in the policy; -v shows a socket")
			: text_format(
				  ": it is not in the policy; --allow %s would let it",
				  at);

	line(what, about);
}

static void tell_addresses(const struct learn *l)
{
	static const char names[] =
		"note: it asked for addresses of names (DNS): --allow HOST would let it "
		"connect to one";
	const struct trace_set *t = &l->trace.seen;
	bool asked = false;

	size_t count = 0;

	for (size_t i = 0; i < t->address_count; i++) {
		const char *at = t->addresses[i];
		const size_t len = strlen(at);
		if (!is_loopback(at) && !is_of_gate(l, at) && ++count <= SHOWN)
			tell_address(at);
		asked = asked ||
			(is_loopback(at) && len > 3 && !strcmp(at + len - 3, ":53"));
	}
	tell_more(count, "addresses were tried");
	if (asked)
		note_print("%s", names);
	if (t->lost_addresses)
		note_print("note: there were more addresses than the %d that are kept",
			   TRACE_SET_ADDRESSES);
}

/* Tells which system calls were refused.  The policy leaves these calls
 * refused: a command that succeeded without them does not need them. */
static void tell_refused(const struct denials *r, const struct result *result)
{
	static const char needs[] =
		"; the command failed: if that is why, --seccomp names another "
		"profile";

	for (size_t i = 0; i < r->count && i < SHOWN; i++) {
		AUTO_FREE char *sentence = refused_call_sentence(&r->calls[i]);
		AUTO_FREE char *what = text_format("note: %s", sentence);
		bool is_open = result->exit_code != 0 && !r->calls[i].is_floor;
		line(what, is_open ? needs : "; it is so with the policy, too");
	}
	tell_more(r->count, "kinds of system calls were refused");
}

void learn_tell(const struct learn *l, const struct wishes *w,
		const struct denials *refused, const struct result *result)
{
	/* The most important lines come last, where a terminal shows them. */
	tell_addresses(l);
	tell_refused(refused, result);
	tell_left(w);
	tell_wishes(l, w);
	tell_later(w);
	tell_secrets(w);
	if (l->trace.seen.lost)
		note_print("note: it used more paths than the %d that are kept; the "
			   "policy is not complete", TRACE_SET_PATHS);
	if (l->unshown)
		note_print("note: %zu files and folders of this host were not shown to "
			   "it, since there are too many; -v shows one", l->unshown);
	if (result->exit_code != 0)
		note_print("note: the command ended with %d: files that it did not get "
			   "to are not in the policy", result->exit_code);
}
