#include "gateway/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "gateway/serve.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "sandbox/plan/volumes.h"

/* --- the options of sandboxes ---------------------------------------------------- */

/* Refuses a folder that is not there: with it no sandbox would start.  Its rights are
 * judged by each start, which may be another user's (docs/hutch-run.md). */
static int check_folders(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->volume_count; i++) {
		const struct volume *v = &p->volumes[i];

		if (v->source && access(v->source, F_OK) < 0 &&
		    (errno == ENOENT || errno == ENOTDIR))
			return volumes_source_missing(v, e);
	}
	return 0;
}

static int check_words(const struct run_options *o, struct err *e)
{
	const struct list *rest = &o->policy->argv;

	if (rest->count > 0 || o->has_dashes)
		return err_set(e, ERR_USAGE, "'%.60s' is no option of hutch create",
			       rest->count > 0 ? rest->items[0] : "--");
	if (o->wants_help || o->has_main || o->lease_fd > 0)
		return err_set(e, ERR_USAGE,
			       "--help, --main and --lease make no sense for a server");
	o->policy->takes_actions = true; /* each request has its own command */
	return policy_check(o->policy, e) < 0 ? -1 : check_folders(o->policy, e);
}

/* Reads these words as `hutch create` reads its own. */
static int try_options(char **words, struct err *e)
{
	struct policy p;
	struct run_options o = { .verb = VERB_CREATE, .policy = &p, .json_fd = -1 };

	policy_init(&p);
	const int rc = options_parse(words, &o, e) < 0 ? -1 : check_words(&o, e);
	policy_done(&p);
	return rc;
}

static int check_options(const struct serve *s, struct err *e)
{
	struct list words = { 0 };

	if (s->image)
		list_addf(&words, "--image=%s", s->image);
	int rc = try_options(words.items ? words.items : (char *[]){ NULL }, e);
	for (size_t i = 0; rc == 0 && i < s->options.count; i++)
		list_add(&words, s->options.items[i]);
	if (rc == 0 && s->options.count > 0 && try_options(words.items, e) < 0)
		rc = err_in(e, "behind --");
	list_done(&words);
	return rc;
}

/* --- the network of builds -------------------------------------------------------- */

static int take_network(struct policy *p, const char *word, struct err *e)
{
	if (policy_take_network(p, word, e) == 0)
		return 0;
	if (!strncmp(word, "ns:", 3))
		return err_in(e, "--build-network");
	(void)err_set(e, ERR_USAGE,
		      "--build-network takes none, allow, host or ns:PATH, not '%.60s'",
		      word);
	return err_remedy(e, "--build-allow HOST reaches one host by its name; "
			     "--build-network host is the network of this machine");
}

static int take_builds(struct policy *p, const struct serve *s, struct err *e)
{
	for (size_t i = 0; i < s->build_allow.count; i++)
		if (egress_policy_take(p, EGRESS_ALLOW, s->build_allow.items[i], e) < 0)
			return err_in(e, "--build-allow");
	if (s->build_network && take_network(p, s->build_network, e) < 0)
		return -1;
	if (p->egress.count == 0 || p->network == NETWORK_ALLOW)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "--build-allow says nothing with --build-network %.60s",
		      s->build_network);
	return err_remedy(e,
			  "--build-network allow connects to what --build-allow names, "
			  "and to nothing else");
}

static int check_builds(const struct serve *s, struct err *e)
{
	struct policy p;

	policy_init(&p);
	const int rc = take_builds(&p, s, e);
	policy_done(&p);
	return rc;
}

/* --- the names of requests --------------------------------------------------------- */

static bool is_of(const char *text, size_t len, const char *marks)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(marks, text[i]))
			return false;
	return len > 0;
}

static int check_host(const char *name, struct err *e)
{
	const char *first = name + (name[0] == '.');

	if (is_of(first, strlen(first), "-_."))
		return 0;
	(void)err_set(e, ERR_USAGE, "--host '%.200s' is the Host of no request", name);
	return err_remedy(e, "a name without scheme, port and path, such as "
			     "hutch.example.org, or .example.org for all below it");
}

/* A browser sends SCHEME://HOST[:PORT] in small letters, without the scheme's own port, or
 * "null" (RFC 6454, section 6.2). */
static bool is_origin(const char *text)
{
	static const char *const own[] = { "http://", ":80", "https://", ":443" };
	const char *mark = strstr(text, "://"), *host = mark ? mark + 3 : NULL;
	const size_t len = strlen(text);

	if (!strcmp(text, "null"))
		return true;
	if (!host || !is_of(text, (size_t)(mark - text), "+-.") ||
	    !is_of(host, strlen(host), "-_.:[]"))
		return false;
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)text[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(own); i += 2)
		if (!strncmp(text, own[i], strlen(own[i])) &&
		    !strcmp(text + len - strlen(own[i + 1]), own[i + 1]))
			return false;
	return true;
}

static int check_origin(const char *text, struct err *e)
{
	if (is_origin(text))
		return 0;
	(void)err_set(e, ERR_USAGE, "--origin '%.200s' is the Origin of no request",
		      text);
	return err_remedy(e, "SCHEME://HOST[:PORT] in small letters, without a path, "
			     "such as https://app.example.org");
}

int settings_check(const struct serve *s, struct err *e)
{
	for (size_t i = 0; i < s->hosts.count; i++)
		if (check_host(s->hosts.items[i], e) < 0)
			return -1;
	for (size_t i = 0; i < s->origins.count; i++)
		if (check_origin(s->origins.items[i], e) < 0)
			return -1;
	if (check_builds(s, e) < 0)
		return -1;
	return check_options(s, e);
}
