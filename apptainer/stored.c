#include "apptainer/stored.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apptainer/sif.h"
#include "apptainer/source.h"
#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/json_view.h"
#include "docker/describe.h"
#include "docker/verb.h"
#include "sandbox/kernel/host_user.h"
#include "store/rm_tree.h"
#include "store/sha256.h"

/* Runs "hutch image WORD...", whose words end with NULL; its output is dropped. */
static int run_image(const char *const *argv, struct err *e)
{
	struct list words = { 0 };

	list_add(&words, "image");
	for (; *argv; argv++)
		list_add(&words, *argv);
	int code = verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	return code;
}

/* Returns the name in the store of the file at `path`, as it is now; allocated.  A file
 * that is written to, or another file with its path, has another one. */
static char *name_of(const char *path, const char *tag, struct err *e)
{
	struct digest d;
	struct stat st;

	if (stat(path, &st) < 0) {
		(void)err_sys(e, "could not open image %.200s", path);
		return NULL;
	}
	AUTO_FREE char *text = text_format(
		"%llu %llu %lld %lld.%09ld %s", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, tag ? tag : "");
	sha256_bytes(text, strlen(text), &d);
	return text_format(STORED_FRONT "file:%.32s", d.hex);
}

static int import_path(const char *path, const char *as, struct err *e)
{
	int code =
		run_image((const char *const[]){ "import", "--name", as, path, NULL }, e);

	if (code <= 0)
		return code;
	return err_set(e, ERR_SYSTEM, "could not open image %.300s", path);
}

/* Makes a folder as the user that sandboxes run for, who is to write to it. */
static int make_folder(void *path, struct err *e)
{
	return mkdtemp(path) ? 0 : err_sys(e, "make a folder %s", (char *)path);
}

/* Unpacks the file system of a SIF into a temporary folder, and imports that. */
static int import_sif(const struct source *s, const char *as, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	AUTO_FREE char *folder =
		text_format("%s/hutch-sif.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");

	if (host_user_as_client(make_folder, folder, e) < 0)
		return -1;
	int rc = sif_unpack(s->word, s->offset, folder, e);
	if (rc == 0)
		rc = import_path(folder, as, e);
	rm_tree_remove(AT_FDCWD, folder);
	return rc;
}

int stored_import(const struct source *s, const char *as, struct err *e)
{
	AUTO_FREE char *path = s->tag ? text_format("%s:%s", s->word, s->tag)
				      : text_copy(s->word);

	return s->kind == SOURCE_SIF ? import_sif(s, as, e) : import_path(path, as, e);
}

int stored_check(const char *name, struct err *e)
{
	int code = run_image((const char *const[]){ "exists", name, NULL }, e);

	if (code <= 0)
		return code;
	(void)err_set(e, ERR_NOT_FOUND,
		      "could not open image docker-daemon:%.150s: hutch's store has none "
		      "of that name",
		      name);
	return err_remedy(
		e,
		"hutch image ls lists the images that are there; docker://%.80s "
		"names an image of a registry",
		name);
}

/* Whether the member is an array of something. */
static bool has_items(struct json_view info, const char *member)
{
	struct json_view_place place = { 0 };

	return json_view_step(json_view_get(info, member), &place);
}

char *stored_find(const struct source *s, bool *ret_is_bare, struct err *e)
{
	struct json_view info;

	*ret_is_bare = false;
	if (s->kind == SOURCE_STORED && stored_check(s->word, e) < 0)
		return NULL;
	if (s->kind == SOURCE_IMAGE || s->kind == SOURCE_STORED)
		return text_copy(s->word);
	AUTO_FREE char *name = name_of(s->word, s->tag, e);
	AUTO_FREE char *text = name ? describe_image_info(name, &info, e) : NULL;
	if (name && !text) {
		if (e->kind != ERR_NOT_FOUND || stored_import(s, name, e) < 0)
			return NULL;
		text = describe_image_info(name, &info, e);
	}
	if (!text)
		return NULL;
	*ret_is_bare = !has_items(info, "env") && !has_items(info, "entrypoint") &&
		       !has_items(info, "cmd");
	return text_copy(name);
}

int stored_note(const char *path, const char *reference, struct err *e)
{
	AUTO_FREE char *name = name_of(path, NULL, e);

	if (!name)
		return -1;
	int code = run_image((const char *const[]){ "tag", reference, name, NULL }, e);
	return code <= 0 ? code
			 : err_set(e, ERR_SYSTEM, "hutch image tag failed for %.200s",
				   path);
}

static int pull(const char *reference, struct err *e)
{
	struct list words = { 0 };

	list_add(&words, "image");
	list_add(&words, "pull");
	if (note_is_silent())
		list_add(&words, "-q");
	list_add(&words, reference);
	int code = verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	return code > 0 ? err_set(e, ERR_NOT_FOUND, "could not pull docker://%.300s",
				  reference)
			: code;
}

char *stored_pull(const char *reference, bool is_fresh, struct err *e)
{
	/* The store knows an image that has its digest in its name by the digest. */
	const char *pinned = strrchr(reference, '@');
	const char *name = pinned && !strncmp(pinned, "@sha256:", 8) ? pinned + 1
								     : reference;
	int code = is_fresh ? 1
			    : run_image((const char *const[]){ "exists", name, NULL }, e);

	if (code < 0 || (code > 0 && pull(reference, e) < 0))
		return NULL;
	return text_copy(name);
}

void stored_remove(const char *reference)
{
	struct err e;

	/* If this fails, the name stays until `apptainer cache clean`. */
	(void)run_image((const char *const[]){ "rm", "-f", reference, NULL }, &e);
}

static bool is_ours(struct json_view row, char **ret_name)
{
	AUTO_FREE char *repository = json_view_string(json_view_get(row, "repository"));
	AUTO_FREE char *tag = json_view_string(json_view_get(row, "tag"));

	if (!repository || !tag ||
	    strncmp(repository, STORED_FRONT, strlen(STORED_FRONT)) != 0)
		return false;
	*ret_name = text_format("%s:%s", repository, tag);
	return true;
}

int stored_clean(struct err *e)
{
	struct json_view_place place = { 0 };
	struct json_view images;
	struct list words = { 0 };

	list_add(&words, "image");
	list_add(&words, "ls");
	list_add(&words, "--json");
	AUTO_FREE char *text = describe_ask(&words, &images, e);
	list_done(&words);
	if (!text)
		return -1;
	while (json_view_step(images, &place)) {
		AUTO_FREE char *name = NULL;
		if (is_ours(place.value, &name))
			stored_remove(name);
	}
	return 0;
}
