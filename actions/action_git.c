#include "actions/action_git.h"

#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "actions/args.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "protocol/action.h"

#define CHANGES_LIMIT  1000
#define SCRIPT_TIMEOUT 600 /* the time-out of a setup script in seconds, as in
			    * OpenHands */

/* Limits of a URL and a token in bytes. Servers use no longer ones, and both together
 * fit into one message. */
#define URL_MAX	  2000
#define TOKEN_MAX 2000
#define USER_MAX  255
#define WORD_MAX 255 /* the most bytes of a branch, a commit, a user's name or an e-mail
		      * address */

/* The bytes allowed in a URL's host and port.  The host becomes part of a key of git's
 * configuration, and none of these bytes can end such a key. */
#define HOST_SIGNS                                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]"

/* The user name that git servers expect with a token, if the action gives none. */
#define DEFAULT_USER "x-access-token"

const char *const action_clone_args[] = { "url",   "path", "branch",	"depth",
					  "token", "user", COMMON_ARGS, NULL };
const char *const action_branch_args[] = { "name", "path", "create", COMMON_ARGS, NULL };
const char *const action_changes_args[] = { "path", "ref", "limit", COMMON_ARGS, NULL };
const char *const action_diff_args[] = { "path", "ref", COMMON_ARGS, NULL };
const char *const action_setup_args[] = { "path", "name",      "email",
					  "init", COMMON_ARGS, NULL };
const char *const action_hooks_args[] = { "path", COMMON_ARGS, NULL };
const char *const action_microagents_args[] = { "path", "folder", COMMON_ARGS, NULL };
const char *const action_script_args[] = { "path", COMMON_ARGS, NULL };

/* --- texts ------------------------------------------------------------------------ */

/* Reads a text; an absent text becomes "". */
static int get_text(const struct json_at *args, const char *key, char **ret,
		    struct err *e)
{
	if (args_text(args, key, ret, e) < 0)
		return -1;
	if (!*ret)
		*ret = text_copy("");
	return 0;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

/* Checks the name of a branch or commit, as far as it could be taken for an option or
 * for two arguments. git itself reports all other errors in it. */
static int check_name(const char *text, const char *key, struct err *e)
{
	if (*text == '-' || strlen(text) > WORD_MAX || strpbrk(text, "\n\r\t "))
		return err_set(e, ERR_USAGE,
			       "args.%s: no name of a branch or commit: up to %d "
			       "bytes, without blanks, no '-' first",
			       key, WORD_MAX);
	return 0;
}

/* Refuses a text of several lines: the text becomes a line of git's configuration,
 * where a second line would be a setting of its own. */
static int check_line(const char *text, const char *key, struct err *e)
{
	if (strlen(text) <= WORD_MAX && !strpbrk(text, "\n\r"))
		return 0;
	return err_set(e, ERR_USAGE, "args.%s: more than a line, or than %d bytes", key,
		       WORD_MAX);
}

/* --- URL and token ---------------------------------------------------------------- */

/* Returns the host in a URL, which is not terminated; NULL: the URL has no scheme.
 * *ret_len is the length of the host and port; a USER@ in front of the host is left
 * out. */
static const char *host_of(const char *url, size_t *ret_len)
{
	const char *at = strstr(url, "://");

	if (!at)
		return NULL;
	at += 3;
	size_t len = strcspn(at, "/?#");
	const char *name = memrchr(at, '@', len);
	size_t before = name ? (size_t)(name + 1 - at) : 0;
	*ret_len = len - before;
	return at + before;
}

static bool has_password(const char *url)
{
	size_t len;
	const char *host = host_of(url, &len), *user = strstr(url, "://");

	return host && memchr(user + 3, ':', (size_t)(host - (user + 3)));
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns whether the URL has a known transport. A transport that runs a program, such
 * as `ext::`, is unknown. */
static bool is_known_url(const char *url)
{
	static const char *const schemes[] = { "https://", "http://", "ssh://", "git://",
					       "file:///" };
	size_t colon = strcspn(url, ":/");

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (begins(url, schemes[i]))
			return url[strlen(schemes[i])];
	/* a path of the file system, or HOST:PATH for ssh */
	return *url == '/' || (colon > 0 && url[colon] == ':' && url[colon + 1] != ':' &&
			       !strstr(url, "://"));
}

static int check_url(const char *url, struct err *e)
{
	if (!*url || strlen(url) > URL_MAX || !is_printable(url) || *url == '-' ||
	    !is_known_url(url))
		return err_set(e, ERR_USAGE,
			       "args.url: no URL that is known: https://, http://, "
			       "ssh://, git://, file:///, HOST:PATH or an absolute "
			       "path was expected, of up to %d bytes",
			       URL_MAX);
	if (has_password(url))
		return err_set(e, ERR_USAGE,
			       "args.url: there is a password in it, which would "
			       "be kept in .git/config: give it as args.token");
	return 0;
}

static bool is_here(const char *host, size_t len)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t name = strlen(names[i]);
		if (len >= name && !memcmp(host, names[i], name) &&
		    (len == name || host[name] == ':'))
			return true;
	}
	return false;
}

/* Checks that the token is sent encrypted, or only to this machine. The host becomes
 * part of a key of git's configuration, so it must have no byte that ends such a key. */
static int check_server(const char *url, struct err *e)
{
	size_t len = 0;
	const char *host = host_of(url, &len);
	bool is_safe = begins(url, "https://") ||
		       (begins(url, "http://") && is_here(host, len));

	if (!is_safe)
		return err_set(e, ERR_USAGE,
			       "args.token: it is sent over https:// only, or with "
			       "http:// to localhost");
	if (strspn(host, HOST_SIGNS) < len)
		return err_set(e, ERR_USAGE,
			       "args.url: a token is sent to a host of letters, "
			       "digits, '.', '-' and '_' only");
	return 0;
}

static int get_token(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_text(args, "token", &a->token, e) < 0 ||
	    get_text(args, "user", &a->user, e) < 0)
		return -1;
	if (!is_printable(a->user) || strlen(a->user) > USER_MAX)
		return err_set(e, ERR_USAGE,
			       "args.user: more than %d bytes, or with blanks", USER_MAX);
	if (!a->token)
		return 0;
	if (!*a->token || strlen(a->token) > TOKEN_MAX || !is_printable(a->token))
		return err_set(e, ERR_USAGE,
			       "args.token: 1 to %d bytes of ASCII, without blanks, "
			       "were expected",
			       TOKEN_MAX);
	return check_server(a->other, e);
}

char *action_git_secret(const struct action *a)
{
	if (!a->token)
		return NULL;
	return text_format("username=%s\npassword=%s\n",
			   *a->user ? a->user : DEFAULT_USER, a->token);
}

/* --- arguments ------------------------------------------------------------------------
 */

static int get_folder(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_text(args, "path", &a->path, e) < 0)
		return -1;
	if (!a->path)
		a->path = text_copy(".");
	return args_path(a->path, "path", e);
}

/* Sets the default folder of a clone, as git clone does: the last component of the URL's
 * path. */
static int default_path(struct action *a, struct err *e)
{
	size_t len = strlen(a->other);

	while (len > 0 && a->other[len - 1] == '/')
		len--;
	if (len > 4 && !memcmp(a->other + len - 4, ".git", 4) && a->other[len - 5] != '/')
		len -= 4;
	size_t from = len;
	while (from > 0 && !strchr("/:", a->other[from - 1]))
		from--;
	a->path = text_format("%.*s", (int)(len - from), a->other + from);
	if (*a->path && strcmp(a->path, ".") != 0 && strcmp(a->path, "..") != 0)
		return 0;
	return err_set(e, ERR_USAGE,
		       "args.path: the URL gives no name for a folder: name one");
}

int action_decode_clone(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "url", &a->other, e) < 0 || check_url(a->other, e) < 0 ||
	    args_text(args, "path", &a->path, e) < 0 ||
	    get_text(args, "branch", &a->include, e) < 0 ||
	    check_name(a->include, "branch", e) < 0 ||
	    args_count(args, "depth", ERRAND_DEPTH_MAX, &a->depth, e) < 0 ||
	    get_token(args, a, e) < 0)
		return -1;
	if (!a->path && default_path(a, e) < 0)
		return -1;
	return args_path(a->path, "path", e);
}

static int get_create(const struct json_at *args, const char *key, struct action *a,
		      struct err *e)
{
	bool is_set = false;

	if (args_bool(args, key, &is_set, e) < 0)
		return -1;
	a->errand_flags |= is_set ? ERRAND_CREATE : 0u;
	return 0;
}

int action_decode_branch(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_folder(args, a, e) < 0 || args_require(args, "name", &a->other, e) < 0 ||
	    check_name(a->other, "name", e) < 0)
		return -1;
	if (!*a->other)
		return err_set(e, ERR_USAGE, "args.name: it is empty");
	return get_create(args, "create", a, e);
}

static int get_ref(const struct json_at *args, struct action *a, struct err *e)
{
	return get_text(args, "ref", &a->other, e) < 0 ? -1
						       : check_name(a->other, "ref", e);
}

int action_decode_changes(const struct json_at *args, struct action *a, struct err *e)
{
	a->limit = CHANGES_LIMIT;
	if (get_folder(args, a, e) < 0 || get_ref(args, a, e) < 0)
		return -1;
	return args_count(args, "limit", ERRAND_LIMIT_MAX, &a->limit, e);
}

int action_decode_diff(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "path", &a->path, e) < 0 ||
	    args_path(a->path, "path", e) < 0)
		return -1;
	return get_ref(args, a, e);
}

int action_decode_setup(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_folder(args, a, e) < 0 || get_text(args, "name", &a->other, e) < 0 ||
	    check_line(a->other, "name", e) < 0 ||
	    get_text(args, "email", &a->include, e) < 0 ||
	    check_line(a->include, "email", e) < 0)
		return -1;
	return get_create(args, "init", a, e);
}

int action_decode_hooks(const struct json_at *args, struct action *a, struct err *e)
{
	return get_folder(args, a, e);
}

int action_decode_microagents(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_folder(args, a, e) < 0 || args_text(args, "folder", &a->other, e) < 0)
		return -1;
	if (!a->other)
		a->other = text_copy(".openhands/microagents");
	return args_path(a->other, "folder", e);
}

/* --- shells ------------------------------------------------------------------------- */

/* Returns the text quoted as one word for a shell; allocated. */
static char *quoted(const char *text)
{
	char *word = mem_new(4 * strlen(text) + 3), *to = word;

	*to++ = '\'';
	for (; *text; text++)
		to = *text == '\'' ? mempcpy(to, "'\\''", 4) : (*to = *text, to + 1);
	*to++ = '\'';
	*to = '\0';
	return word;
}

/* Turns a setup script into a command for the session's shell. The shell reads the
 * script itself (`.`), so that variables which the script sets stay in the session. */
int action_decode_script(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_folder(args, a, e) < 0)
		return -1;
	AUTO_FREE char *folder = quoted(a->path);
	free(a->path);
	a->path = NULL;
	a->command = text_format("cd -- %s && if [ -e .openhands/setup.sh ]; then "
				 ". ./.openhands/setup.sh; else "
				 "echo 'There is no .openhands/setup.sh here.'; fi",
				 folder);
	a->is_blocking = true;
	a->timeout_s = SCRIPT_TIMEOUT;
	return 0;
}

char *action_git_command(const struct action *a)
{
	if (a->kind != ACT_GIT_CLONE && a->kind != ACT_GIT_BRANCH)
		return NULL;
	AUTO_FREE char *other = quoted(a->other), *path = quoted(a->path);
	if (a->kind == ACT_GIT_CLONE)
		return text_format("git clone %s %s", other, path);
	return text_format("git switch %s%s",
			   a->errand_flags & ERRAND_CREATE ? "--create " : "", other);
}
