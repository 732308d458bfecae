#include "sandbox/explain/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/explain/why_parts.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/plan.h"

static void connect_abstract(const struct why *w, const char *where, struct answer *ret)
{
	answer_set(ret, false,
		   w->policy->network == NETWORK_NONE ? "network" :
		   w->plan->hides_abstract	      ? "landlock" :
							"seccomp",
		   text_format("%s is one of this host, and abstract sockets stay inside",
			       where));
	ret->line = text_copy(w->policy->network == NETWORK_NONE ? "--network none" :
								   "--network host");
	ret->change = text_copy("a socket in a folder: -v DIR:DIR");
}

static void connect_unix(const struct why *w, const char *path, struct answer *ret)
{
	struct found f;

	if (w->plan->refuses_unix) {
		answer_set(
			ret, false, "seccomp",
			text_copy(
				"sockets of the kind AF_UNIX are refused: with this host's network its abstract ones could be reached, which this kernel cannot prevent otherwise"));
		ret->line = text_copy("--network host");
		ret->change = text_copy("--network none, or kernel 6.12");
		return;
	}
	if (*path == '@') {
		connect_abstract(w, path, ret);
		return;
	}
	if (!why_find(w, path, &f, ret)) {
		found_done(&f);
		return;
	}
	if (!S_ISSOCK(f.st.st_mode))
		answer_set(ret, false, "files", text_format("%s is no socket", f.path));
	else if (!lookup_may(w->lookup, &f, W_OK))
		why_say_closed(w, &f, "connected to", ret);
	else
		answer_set(ret, true, "mounts",
			   text_format("%s can be connected to", f.path));
	if (!ret->line)
		ret->line = why_line(w, &f);
	found_done(&f);
}

static bool is_loopback(const char *host, size_t len)
{
	static const char *const names[] = { "localhost", "[::1]", "::1" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && !strncmp(host, names[i], len))
			return true;
	return !strncmp(host, "127.", 4);
}

static bool is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && port >= 1 && port <= 65535;
}

int why_connect(const struct why *w, const char *where, struct answer *ret)
{
	const char *colon = strrchr(where, ':');

	if (!strncmp(where, "unix:", 5) && where[5]) {
		connect_unix(w, where + 5, ret);
		return 0;
	}
	if (!colon || colon == where || !is_port(colon + 1))
		return -1;
	bool is_own = is_loopback(where, (size_t)(colon - where));
	bool is_host = w->policy->network == NETWORK_HOST;
	const char *what =
		is_host ? "is reached as from this host" :
		is_own	? "is the sandbox's own, where only what runs inside answers" :
			  "cannot be reached: there is no network but loopback";
	answer_set(ret, is_host || is_own, "network", text_format("%s %s", where, what));
	ret->line = text_copy(is_host ? "--network host" : "--network none");
	if (!ret->is_yes)
		ret->change = text_copy("--network host");
	return 0;
}
