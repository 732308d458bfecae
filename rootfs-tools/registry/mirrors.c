#include "rootfs-tools/registry/mirrors.h"

#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/json/json.h"
#include "rootfs-tools/registry/http.h"
#include "store/folders.h"

#define PATIENCE_MAX 3600u

void mirrors_init(struct mirrors *m)
{
	*m = (struct mirrors){ .patience_s = MIRRORS_PATIENCE };
}

void mirrors_done(struct mirrors *m)
{
	list_done(&m->of);
	list_done(&m->urls);
	list_done(&m->insecure);
}

static int add_mirror(const struct json_at *at, const char *registry, struct mirrors *m,
		      struct err *e)
{
	char host[HTTP_HOST_MAX];
	const char *url;

	if (json_string(at, &url, e) < 0)
		return -1;
	if (http_host(url, host, e) < 0)
		return err_in(e, "%s", at->place);
	size_t len = strlen(url);
	while (len && url[len - 1] == '/')
		len--;
	list_add(&m->of, registry);
	list_addf(&m->urls, "%.*s", (int)len, url);
	/* A mirror whose URL begins with http:// may be asked without TLS. */
	if (!strncmp(url, "http://", 7))
		list_add(&m->insecure, host);
	return 0;
}

static int read_mirrors(const struct json_at *root, struct mirrors *m, struct err *e)
{
	struct json_at all, one = { 0 };
	const char *registry;

	if (!json_member(root, "mirrors", &all))
		return 0;
	if (json_expect(&all, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&all, &one, &registry)) {
		struct json_at url = { 0 };
		if (json_expect(&one, JSON_ARRAY, e) < 0)
			return -1;
		while (json_step(&one, &url))
			if (add_mirror(&url, registry, m, e) < 0)
				return -1;
	}
	return 0;
}

static int read_insecure(const struct json_at *root, struct mirrors *m, struct err *e)
{
	struct json_at all, one = { 0 };
	const char *host;

	if (!json_member(root, "insecure", &all))
		return 0;
	if (json_expect(&all, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&all, &one)) {
		if (json_string(&one, &host, e) < 0)
			return -1;
		list_add(&m->insecure, host);
	}
	return 0;
}

static int read_patience(const struct json_at *root, struct mirrors *m, struct err *e)
{
	struct json_at at;
	uint64_t seconds;

	if (!json_member(root, "patience", &at))
		return 0;
	if (json_uint(&at, &seconds, e) < 0)
		return -1;
	if (seconds < 1 || seconds > PATIENCE_MAX)
		return err_set(e, ERR_USAGE, "%s: 1 to %u seconds were expected",
			       at.place, PATIENCE_MAX);
	m->patience_s = (unsigned)seconds;
	return 0;
}

int mirrors_read(const char *text, size_t len, struct mirrors *m, struct err *e)
{
	static const char *const keys[] = { "mirrors", "insecure", "patience", NULL };
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;

	if (!doc)
		return -1;
	json_root(doc, "registries", &root);
	if (json_only(&root, keys, e) < 0 || read_mirrors(&root, m, e) < 0 ||
	    read_insecure(&root, m, e) < 0)
		return -1;
	return read_patience(&root, m, e);
}

int mirrors_open(struct mirrors *m, struct err *e)
{
	AUTO_FREE char *folder = folder_path(FOLDER_CONFIG);
	AUTO_FREE char *path = folder ? text_format("%s/" MIRRORS_FILE, folder) : NULL;
	AUTO_FREE char *text = NULL;
	struct err why;
	size_t len;

	if (!path)
		return 0;
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, path, &why);
	if (fd < 0 && (why.sys == ENOENT || why.sys == ENOTDIR))
		return 0;
	if (fd < 0) {
		*e = why;
		return -1;
	}
	if (io_read_file(fd, path, MIRRORS_FILE_MAX, &text, &len, e) < 0)
		return -1;
	return mirrors_read(text, len, m, e) < 0 ? err_in(e, "%s", path) : 0;
}
