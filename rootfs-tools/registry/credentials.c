#include "rootfs-tools/registry/credentials.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/registry/credential_helper.h"

/* Docker Hub's host has two names: HUB in references, the other in files and
 * helpers. */
#define HUB	 "docker.io"
#define HUB_NAME "index.docker.io"
#define HUB_URL	 "https://index.docker.io/v1/"

static void forget(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	own_free(secret);
}

void credentials_done(struct credentials *c)
{
	forget(&c->password);
	forget(&c->token);
	own_free(&c->user);
	own_free(&c->from);
}

/* --- which entry ----------------------------------------------------------- */

/* Returns how well a key of the file matches the repository: 0 if not at all; else a
 * longer matching path gives a larger number. */
static size_t fit(const char *key, const char *registry, const char *repository)
{
	const char *scheme = strstr(key, "://");
	const char *host = scheme ? scheme + 3 : key;
	const size_t len = strcspn(host, "/");
	const char *path = host[len] ? host + len + 1 : "";
	const size_t path_len = strlen(path);

	bool is_host = strlen(registry) == len && !strncasecmp(host, registry, len);
	if (!strcmp(registry, HUB))
		is_host = is_host ||
			  (len == strlen(HUB_NAME) && !strncasecmp(host, HUB_NAME, len));
	if (!is_host)
		return 0;
	/* A path of "/v1/" or "/v2/" in a URL is the API's and is ignored; any
	 * other path is a part of the image names. */
	if (scheme || !path_len)
		return 1;
	bool is_below = !strncmp(repository, path, path_len) &&
			(!repository[path_len] || repository[path_len] == '/');
	return is_below ? 1 + path_len : 0;
}

static bool find_member(const struct json_at *root, const char *member,
			const char *registry, const char *repository, struct json_at *ret)
{
	struct json_at list, item = { 0 };
	const char *key;
	size_t best = 0;

	if (!json_member(root, member, &list))
		return false;
	while (json_step_key(&list, &item, &key)) {
		size_t now = fit(key, registry, repository);
		if (now > best)
			*ret = item;
		best = now > best ? now : best;
	}
	return best > 0;
}

/* --- what it says ---------------------------------------------------------- */

static int malformed(struct err *e)
{
	return err_set(e, ERR_USAGE, "'auth' is no base64 of USER:PASSWORD");
}

static int take_auth(const char *auth, struct credentials *ret, struct err *e)
{
	const size_t len = strlen(auth);
	size_t plain_len = 0;

	if (len > CREDENTIALS_SECRET_MAX)
		return malformed(e);
	AUTO_FREE char *plain = mem_zeroed(1, len + 1);
	bool is_base64 = base64_decode(auth, len, (uint8_t *)plain, &plain_len);
	plain[is_base64 ? plain_len : 0] = '\0';
	/* Docker once wrote zero bytes after the password. */
	char *colon = strchr(plain, ':');
	if (colon) {
		ret->user = text_format("%.*s", (int)(colon - plain), plain);
		ret->password = text_copy(colon + 1);
	}
	explicit_bzero(plain, len);
	return colon ? 0 : malformed(e);
}

/* Copies a member of the object to *ret, if the member is a text and not empty. */
static int take_text(const struct json_at *object, const char *name, char **ret,
		     struct err *e)
{
	struct json_at at;
	const char *text;

	if (!json_member(object, name, &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	if (strlen(text) > CREDENTIALS_SECRET_MAX)
		return err_set(e, ERR_LIMIT, "'%s' is longer than %d bytes", name,
			       CREDENTIALS_SECRET_MAX);
	if (*text)
		*ret = text_copy(text);
	return 0;
}

static int take_entry(const struct json_at *entry, struct credentials *ret, struct err *e)
{
	AUTO_FREE char *auth = NULL;

	if (json_expect(entry, JSON_OBJECT, e) < 0 ||
	    take_text(entry, "identitytoken", &ret->token, e) < 0 ||
	    take_text(entry, "username", &ret->user, e) < 0 ||
	    take_text(entry, "password", &ret->password, e) < 0 ||
	    take_text(entry, "auth", &auth, e) < 0)
		return -1;
	if (!auth || (ret->user && ret->password))
		return 0;
	own_free(&ret->user);
	forget(&ret->password);
	int rc = take_auth(auth, ret, e);
	explicit_bzero(auth, strlen(auth));
	return rc;
}

static bool has_any(const struct credentials *c)
{
	return c->token || (c->user && c->password);
}

static int read_root(const struct json_at *root, const char *registry,
		     const char *repository, struct credentials *ret, char **ret_helper,
		     struct err *e)
{
	struct json_at at;
	const char *name;

	if (json_expect(root, JSON_OBJECT, e) < 0)
		return -1;
	if (find_member(root, "credHelpers", registry, repository, &at)) {
		if (json_string(&at, &name, e) < 0)
			return -1;
		*ret_helper = text_copy(name);
		return 0;
	}
	if (find_member(root, "auths", registry, repository, &at) &&
	    take_entry(&at, ret, e) < 0)
		return -1;
	return has_any(ret) ? 0 : take_text(root, "credsStore", ret_helper, e);
}

int credentials_read(const char *text, size_t len, const char *from, const char *registry,
		     const char *repository, struct credentials *ret, char **ret_helper,
		     struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct credentials found = { 0 };
	struct json_at root;

	if (!doc)
		return err_in(e, "%s", from);
	json_root(doc, "config", &root);
	if (read_root(&root, registry, repository, &found, ret_helper, e) < 0) {
		credentials_done(&found);
		return err_in(e, "%s: %s", from, registry);
	}
	if (has_any(&found))
		found.from = text_copy(from);
	else
		credentials_done(&found);
	*ret = found;
	return 0;
}

/* --- a helper -------------------------------------------------------------- */

static int take_answer(const struct json_at *root, struct credentials *found,
		       struct err *e)
{
	if (json_expect(root, JSON_OBJECT, e) < 0 ||
	    take_text(root, "Username", &found->user, e) < 0 ||
	    take_text(root, "Secret", &found->password, e) < 0)
		return -1;
	if (found->user && !strcmp(found->user, "<token>")) {
		found->token = found->password;
		found->password = NULL;
		own_free(&found->user);
	}
	return 0;
}

int credentials_read_answer(const char *text, size_t len, struct credentials *ret,
			    struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct credentials found = { 0 };
	struct json_at root;

	if (!doc)
		return -1;
	json_root(doc, "answer", &root);
	if (take_answer(&root, &found, e) < 0) {
		credentials_done(&found);
		return -1;
	}
	*ret = found;
	return 0;
}

static int ask_helper(const char *name, const char *registry, const char *from,
		      struct credentials *ret, struct err *e)
{
	const char *host = !strcmp(registry, HUB) ? HUB_URL : registry;
	AUTO_FREE char *text = NULL;
	size_t len;

	int got = credential_helper_get(name, host, 2 * CREDENTIALS_SECRET_MAX, &text,
					&len, e);
	if (got < 0)
		return err_from(e, from);
	if (!got)
		return 0;
	int rc = credentials_read_answer(text, len, ret, e);
	explicit_bzero(text, len);
	if (rc < 0)
		return err_in(e, "docker-credential-%s answers for %s", name, host);
	if (has_any(ret))
		ret->from = text_format("docker-credential-%s", name);
	return 0;
}

/* --- the file -------------------------------------------------------------- */

/* Returns the path of the file with credentials.  ret_may_miss: the file may be
 * missing, since no variable named it. */
static char *file_path(bool *ret_may_miss)
{
	const char *named = getenv("REGISTRY_AUTH_FILE"),
		   *folder = getenv("DOCKER_CONFIG");
	const char *home = getenv("HOME");

	*ret_may_miss = !(named && *named);
	if (named && *named)
		return text_copy(named);
	if (folder && *folder)
		return text_format("%s/config.json", folder);
	return home && *home ? text_format("%s/.docker/config.json", home) : NULL;
}

int credentials_find(const char *registry, const char *repository,
		     struct credentials *ret, struct err *e)
{
	AUTO_FREE char *text = NULL, *helper = NULL;
	bool may_miss;
	AUTO_FREE char *path = file_path(&may_miss);
	size_t len;

	*ret = (struct credentials){ 0 };
	if (!path)
		return 0;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && may_miss)
		return 0;
	if (fd < 0)
		return err_sys(e, "open %s, which holds registries' credentials", path);
	if (io_read_file(fd, path, CREDENTIALS_FILE_MAX, &text, &len, e) < 0)
		return -1;
	int rc = credentials_read(text, len, path, registry, repository, ret, &helper, e);
	explicit_bzero(text, len);
	if (rc < 0 || !helper)
		return rc;
	return ask_helper(helper, registry, path, ret, e);
}
