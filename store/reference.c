/* distribution/reference, "grammar":
 *
 *	name		[domain '/'] part ['/' part]*
 *	domain		label ['.' label]* [':' digits]  or  '[' IPv6 ']' [':' digits]
 *	part		alnum [separator alnum]*, separator: '_' '.' "__" or any '-'
 *	tag		[A-Za-z0-9_] [A-Za-z0-9_.-]{0,127}
 */
#include "store/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define LOWER	"abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LETTERS UPPER LOWER
#define DIGITS	"0123456789"

#define DOCKER_HOST  "docker.io"
#define DOCKER_INDEX "index.docker.io"
#define DOCKER_REPO  "library/"
#define DEFAULT_TAG  "latest"

/* In the store, a reference is the name of a file, with "%2F" for a slash
 * (store/refs.h). */
#define KEPT_MAX 255

static int refuse(const char *text, const char *why, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "'%.100s%s' is no reference of an image: %s", text,
		      strlen(text) > 100 ? "..." : "", why);
	return err_remedy(
		e, "[REGISTRY[:PORT]/]NAME[/NAME...][:TAG | @sha256:DIGEST], such as "
		   "python:3.12 or localhost:5000/me/tool");
}

/* --- parts --------------------------------------------------------------------- */

/* Returns the length of a separator between two alphanumeric runs, or 0 if there is
 * none. */
static size_t separator(const char *at)
{
	if (*at == '-')
		return strspn(at, "-");
	if (*at == '_')
		return at[1] == '_' ? 2 : 1;
	return *at == '.';
}

/* Returns the length of a repository's part at `at`, up to a slash or the end; 0: the
 * part is invalid. */
static size_t part_length(const char *at)
{
	size_t len = strspn(at, LOWER);

	while (len && at[len] && at[len] != '/') {
		size_t between = separator(at + len);
		size_t more = between ? strspn(at + len + between, LOWER) : 0;
		if (!more)
			return 0;
		len += between + more;
	}
	return len;
}

static bool is_repository(const char *text)
{
	for (;;) {
		size_t len = part_length(text);
		if (!len || !text[len])
			return len > 0;
		text += len + 1;
	}
}

static bool is_tag(const char *text)
{
	size_t len = strspn(text, LETTERS "_.-");

	return len && len <= 128 && !text[len] && text[0] != '.' && text[0] != '-';
}

static bool is_port(const char *text)
{
	size_t len = strspn(text, DIGITS);

	return len && len <= 5 && !text[len] && atoi(text) >= 1 && atoi(text) <= 65535;
}

/* Returns the end of a host's labels with dots between them, or NULL. */
static const char *behind_labels(const char *at)
{
	for (;;) {
		size_t len = strspn(at, LETTERS "-");
		if (!len || at[0] == '-' || at[len - 1] == '-')
			return NULL;
		at += len;
		if (*at != '.')
			return at;
		at++;
	}
}

/* Returns the end of an IPv6 address in brackets ("[::1]"), or NULL. */
static const char *behind_address(const char *at)
{
	size_t len = strspn(at + 1, "0123456789abcdefABCDEF:");

	return len >= 2 && at[1 + len] == ']' ? at + len + 2 : NULL;
}

static bool is_host(const char *text)
{
	const char *end = text[0] == '[' ? behind_address(text) : behind_labels(text);

	return end && (!*end || (*end == ':' && is_port(end + 1)));
}

/* --- the whole ----------------------------------------------------------------- */

/* Returns whether the first part of a name is a host, by docker's rule: it is one
 * unless it looks like a path of Docker Hub. */
static bool has_host(const char *name, size_t first)
{
	if (name[first] != '/')
		return false;
	return strcspn(name, ".:[" UPPER) < first ||
	       (first == strlen("localhost") && !strncmp(name, "localhost", first));
}

/* Sets the repository's name; -1: the name is too long. */
static int set_name(struct reference *r, const char *name)
{
	size_t first = strcspn(name, "/");
	bool is_named = has_host(name, first);
	const char *rest = is_named ? name + first + 1 : name;

	bool is_hub = !is_named || (first == strlen(DOCKER_INDEX) &&
				    !strncmp(name, DOCKER_INDEX, first));
	(void)snprintf(r->registry, sizeof(r->registry), "%.*s",
		       is_hub ? (int)strlen(DOCKER_HOST) : (int)first,
		       is_hub ? DOCKER_HOST : name);
	bool is_official = !strcmp(r->registry, DOCKER_HOST) && !strchr(rest, '/');
	int len = snprintf(r->repository, sizeof(r->repository), "%s%s",
			   is_official ? DOCKER_REPO : "", rest);
	return (size_t)len < sizeof(r->repository) ? 0 : -1;
}

/* Cuts "@sha256:..." and ":TAG" off the end of `name`. */
static int cut_version(const char *text, char *name, struct reference *r, struct err *e)
{
	char *at = strchr(name, '@'), *slash, *colon;

	if (at) {
		*at = '\0';
		if (digest_parse(at + 1, &r->pin, e) < 0)
			return err_in(e, "'%.100s'", text);
	}
	slash = strrchr(name, '/');
	colon = strchr(slash ? slash : name, ':');
	/* "localhost:5000" alone is a name with a tag, as in docker. */
	if (colon)
		*colon = '\0';
	if (colon && !is_tag(colon + 1))
		return refuse(text, "the text behind the ':' is no tag", e);
	if (!at)
		(void)snprintf(r->tag, sizeof(r->tag), "%.128s",
			       colon ? colon + 1 : DEFAULT_TAG);
	return 0;
}

static int check(const char *text, const struct reference *r, struct err *e)
{
	char whole[REFERENCE_MAX];
	size_t len;

	if (!is_host(r->registry))
		return refuse(text, "its first part is no name of a host", e);
	if (!is_repository(r->repository))
		return refuse(text,
			      "its name has to be of a-z and 0-9, with single '.', '_', "
			      "'-' or '/' between them",
			      e);
	reference_print(r, whole);
	len = strlen(whole);
	for (const char *slash = whole; (slash = strchr(slash, '/')); slash++)
		len += 2;
	return len > KEPT_MAX ? refuse(text, "it is too long", e) : 0;
}

int reference_parse(const char *text, struct reference *ret, struct err *e)
{
	struct reference r = { 0 };
	char name[KEPT_MAX + 1];
	size_t len = strlen(text);

	if (!len)
		return refuse(text, "it is empty", e);
	if (len >= sizeof(name))
		return refuse(text, "it is too long", e);
	if (digest_is_hex(text))
		return refuse(text, "64 hexadecimal digits are a digest", e);
	memcpy(name, text, len + 1);
	if (cut_version(text, name, &r, e) < 0)
		return -1;
	if (set_name(&r, name) < 0)
		return refuse(text, "it is too long", e);
	if (check(text, &r, e) < 0)
		return -1;
	*ret = r;
	return 0;
}

/* Appends the tag or the digest to the name. */
static void add_version(const struct reference *r, bool is_short, char *ret)
{
	size_t len = strlen(ret);

	if (r->pin.hex[0])
		(void)snprintf(ret + len, REFERENCE_MAX - len, "@sha256:%s", r->pin.hex);
	else if (!is_short || strcmp(r->tag, DEFAULT_TAG))
		(void)snprintf(ret + len, REFERENCE_MAX - len, ":%s", r->tag);
}

int reference_parse_name(const char *text, struct reference *ret, struct err *e)
{
	struct reference r;

	if (reference_parse(text, &r, e) < 0)
		return -1;
	if (r.pin.hex[0])
		return err_set(e, ERR_USAGE,
			       "'%.200s' has a digest, which only a registry can give",
			       text);
	if (!strcmp(r.registry, REFERENCE_BUILDS))
		return err_set(e, ERR_USAGE,
			       "'%.200s' is no name to give: hutch's builds have such",
			       text);
	*ret = r;
	return 0;
}

void reference_print(const struct reference *r, char ret[REFERENCE_MAX])
{
	(void)snprintf(ret, REFERENCE_MAX, "%s/%s", r->registry, r->repository);
	add_version(r, false, ret);
}

void reference_print_short(const struct reference *r, char ret[REFERENCE_MAX])
{
	const size_t official = sizeof(DOCKER_REPO) - 1;
	const char *repository = r->repository;

	/* docker.io/localhost/x may not be shortened to localhost/x, which means
	 * another image. */
	if (strcmp(r->registry, DOCKER_HOST) ||
	    has_host(repository, strcspn(repository, "/"))) {
		(void)snprintf(ret, REFERENCE_MAX, "%s/%s", r->registry, repository);
	} else {
		/* 64 hexadecimal digits alone would be read as a digest, not as a
		 * name. */
		if (!strncmp(repository, DOCKER_REPO, official) &&
		    !strchr(repository + official, '/') &&
		    !digest_is_hex(repository + official))
			repository += official;
		(void)snprintf(ret, REFERENCE_MAX, "%s", repository);
	}
	add_version(r, true, ret);
}
