#include "apptainer/source.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apptainer/sif.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"

void source_done(struct source *s)
{
	own_free(&s->word);
	own_free(&s->tag);
}

/* --- files ------------------------------------------------------------------------- */

static int refuse_definition(const char *path, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%.200s is a definition file, which hutch does not read", path);
	return err_remedy(e, "write a Dockerfile; hutch image build -t NAME FOLDER makes "
			     "an image, and docker-daemon:NAME names it here");
}

/* Looks at the first bytes. */
static int read_file(struct source *s, struct err *e)
{
	char head[16] = { 0 };

	s->kind = SOURCE_ARCHIVE;
	AUTO_CLOSE int fd = open(s->word, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, head, sizeof(head) - 1) < 0)
		return err_sys(e, "could not open image %.200s", s->word);
	if (!strncasecmp(head, "bootstrap:", 10))
		return refuse_definition(s->word, e);
	int is_sif = sif_find(fd, &s->offset, e);
	if (is_sif > 0)
		s->kind = SOURCE_SIF;
	return is_sif < 0 ? err_in(e, "could not open image %.200s", s->word) : 0;
}

static int read_path(const char *path, struct source *s, struct err *e)
{
	struct stat st;

	s->word = realpath(path, NULL);
	if (!s->word || stat(s->word, &st) < 0) {
		(void)err_sys(e, "could not open image %.200s", path);
		return err_remedy(e, "docker://REF names an image of a registry");
	}
	if (S_ISDIR(st.st_mode)) {
		s->kind = SOURCE_FOLDER;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE,
			       "could not open image %.200s: it is neither a file nor a "
			       "folder",
			       path);
	return read_file(s, e);
}

/* --- words ------------------------------------------------------------------------- */

/* Reads PATH[:TAG]. */
static int read_tagged(const char *text, struct source *s, struct err *e)
{
	const enum source_kind kind = s->kind;
	const char *colon = strchr(text, ':');
	AUTO_FREE char *path = colon ? text_format("%.*s", (int)(colon - text), text)
				     : text_copy(text);

	if (colon && colon[1])
		s->tag = text_copy(colon + 1);
	if (read_path(path, s, e) < 0)
		return -1;
	if ((s->kind == SOURCE_FOLDER) != (kind == SOURCE_LAYOUT))
		return err_set(e, ERR_USAGE, "could not open image %.200s: it is %s",
			       path, kind == SOURCE_LAYOUT ? "no folder" : "a folder");
	s->kind = kind;
	return 0;
}

static int read_reference(const char *text, struct source *s, struct err *e)
{
	if (!*text || *text == '-')
		return err_set(e, ERR_USAGE, "'%.60s' is no name of an image", text);
	s->word = text_copy(text);
	return 0;
}

/* hutch run takes two words for something else than an image: "host" and "dir:PATH". */
static int read_image(const char *text, struct source *s, struct err *e)
{
	if (strcmp(text, "host") != 0 && strncmp(text, "dir:", 4) != 0)
		return read_reference(text, s, e);
	(void)err_set(e, ERR_USAGE, "'%.100s' is no image to hutch", text);
	return err_remedy(e,
			  "docker.io/library/%.100s names the image of the registry; a "
			  "folder, and host, stand without docker://",
			  text);
}

static int read_plain(const char *word, struct source *s, struct err *e)
{
	if (strcmp(word, "host") != 0 || access(word, F_OK) == 0)
		return read_path(word, s, e);
	s->kind = SOURCE_HOST;
	return read_reference(word, s, e);
}

#define OTHERS "hutch fetches images from registries by docker:// alone"

static const struct {
	const char *front;
	enum source_kind kind;
	int (*read)(const char *text, struct source *s, struct err *e);
	const char *refused;
} fronts[] = {
	{ "instance://", SOURCE_INSTANCE, read_reference, NULL },
	{ "docker://", SOURCE_IMAGE, read_image, NULL },
	{ "docker-daemon://", SOURCE_STORED, read_image, NULL },
	{ "docker-daemon:", SOURCE_STORED, read_image, NULL },
	{ "docker-archive://", SOURCE_ARCHIVE, read_tagged, NULL },
	{ "docker-archive:", SOURCE_ARCHIVE, read_tagged, NULL },
	{ "oci-archive://", SOURCE_ARCHIVE, read_tagged, NULL },
	{ "oci-archive:", SOURCE_ARCHIVE, read_tagged, NULL },
	{ "oci://", SOURCE_LAYOUT, read_tagged, NULL },
	{ "oci:", SOURCE_LAYOUT, read_tagged, NULL },
	{ "library:", 0, NULL, OTHERS },
	{ "shub:", 0, NULL, OTHERS },
	{ "oras:", 0, NULL, OTHERS },
	{ "http:", 0, NULL, OTHERS },
	{ "https:", 0, NULL, OTHERS },
	{ "ipfs:", 0, NULL, OTHERS },
};

int source_read(const char *word, struct source *ret, struct err *e)
{
	*ret = (struct source){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(fronts); i++) {
		const size_t len = strlen(fronts[i].front);
		if (strncmp(word, fronts[i].front, len) != 0)
			continue;
		if (fronts[i].refused)
			return err_set(e, ERR_UNSUPPORTED, "%.200s: %s", word,
				       fronts[i].refused);
		ret->kind = fronts[i].kind;
		return fronts[i].read(word + len, ret, e);
	}
	return read_plain(word, ret, e);
}

bool source_has(const struct source *s, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT |
						 RESOLVE_NO_MAGICLINKS };

	AUTO_CLOSE int folder = open(s->word, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = folder < 0 ? -1 : sys_openat2(folder, path, &how);
	return fd >= 0;
}
