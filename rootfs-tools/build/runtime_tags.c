#include "rootfs-tools/build/runtime_tags.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "rootfs-tools/build/source_hash.h"
#include "rootfs-tools/layers/hash.h"

#define FILE_MAX      (64u << 20) /* limit of the bytes that are read of a file such as
				   * poetry.lock */
#define VERSIONED_MAX 96

void runtime_tags_shorten(const char *hex, char ret[17])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	unsigned __int128 value = 0;
	size_t len = 0;

	for (; *hex; hex++)
		value = value * 16 + (unsigned)(strchr(digits, *hex) - digits);
	for (; value > 0 && len < 16; value /= 36)
		ret[len++] = digits[(unsigned)(value % 36)];
	ret[len] = '\0';
}

/* Reads a file of the package, or of the project if the package has no such file. */
static int read_file(const struct runtime_wish *w, const char *name, char **ret,
		     size_t *ret_len, struct err *e)
{
	AUTO_FREE char *inner = text_format("%s/openhands/%s", w->project, name);
	AUTO_FREE char *outer = text_format("%s/%s", w->project, name);
	const char *path = access(inner, F_OK) == 0 ? inner : outer;
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, path, e);

	if (fd < 0)
		return -1;
	return io_read_file(fd, path, FILE_MAX, ret, ret_len, e);
}

/* Reads the first line of the form `version = "..."`. */
static int read_version(const struct runtime_wish *w, char **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (w->version) {
		*ret = text_copy(w->version);
		return 0;
	}
	if (read_file(w, "pyproject.toml", &text, &len, e) < 0)
		return -1;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "version", 7) != 0 || !strchr(" =", line[7]))
			continue;
		const char *value = line + strcspn(line, "\"'\n");
		if (*value != '"' && *value != '\'')
			continue;
		*ret = text_format("%.*s", (int)strcspn(value + 1, "\"'\n"), value + 1);
		return 0;
	}
	(void)err_set(e, ERR_NOT_FOUND, "pyproject.toml of %.300s says no version",
		      w->project);
	return err_remedy(e, "--version says it");
}

static int make_lock(const struct runtime_wish *w, char ret[17], struct err *e)
{
	AUTO_FREE char *project = NULL, *lock = NULL;
	size_t project_len = 0, lock_len = 0;
	char hex[33];

	if (read_file(w, "pyproject.toml", &project, &project_len, e) < 0 ||
	    read_file(w, "poetry.lock", &lock, &lock_len, e) < 0)
		return -1;
	struct hash *h = hash_new_md5();
	hash_add(h, w->base, strlen(w->base));
	hash_add(h, "False", w->has_no_browser ? 5 : 0);
	hash_add(h, project, project_len);
	hash_add(h, lock, lock_len);
	hash_end_md5(h, hex);
	hash_free(h);
	runtime_tags_shorten(hex, ret);
	return 0;
}

static char *make_versioned(const char *base)
{
	AUTO_FREE char *text = text_copy("");

	for (const char *at = base; *at; at++) {
		char *longer = *at == '/' ? text_format("%s_s_", text) :
			       *at == ':' ? text_format("%s_t_", text) :
					    text_format("%s%c", text,
							tolower((unsigned char)*at));
		free(text);
		text = longer;
	}
	size_t len = strlen(text);
	return text_copy(text + (len > VERSIONED_MAX ? len - VERSIONED_MAX : 0));
}

/* Returns the repository of the new image.  If the base is a runtime image itself, the
 * new image stays in the base's repository. */
static char *repository_of(const struct runtime_wish *w)
{
	const char *tag = strrchr(w->base, ':');

	if (!strstr(w->base, w->repository))
		return text_copy(w->repository);
	if (!tag || strchr(tag, '/'))
		return text_copy(w->base);
	return text_format("%.*s", (int)(tag - w->base), w->base);
}

int runtime_tags_make(const struct runtime_wish *w, struct runtime_tags *ret,
		      struct err *e)
{
	AUTO_FREE char *version = NULL;
	AUTO_FREE char *package = text_format("%s/openhands", w->project);
	char lock[17], source[17], hex[SOURCE_HASH_TEXT];

	if (read_version(w, &version, e) < 0 || make_lock(w, lock, e) < 0 ||
	    source_hash(package, hex, e) < 0)
		return -1;
	runtime_tags_shorten(hex, source);
	AUTO_FREE char *base = make_versioned(w->base);
	AUTO_FREE char *repository = repository_of(w);
	*ret = (struct runtime_tags){
		.source =
			text_format("%s:oh_v%s_%s_%s", repository, version, lock, source),
		.lock = text_format("%s:oh_v%s_%s", repository, version, lock),
		.versioned = text_format("%s:oh_v%s_%s", repository, version, base),
	};
	return 0;
}

void runtime_tags_done(struct runtime_tags *t)
{
	free(t->source);
	free(t->lock);
	free(t->versioned);
	*t = (struct runtime_tags){ 0 };
}
