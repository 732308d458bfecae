#include "store/refs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "store/reference.h"
#include "store/store.h"

#define SLASH "%2F"

/* --- the name of a file -------------------------------------------------------- */

/* Writes the name of the reference's file.  The name fits: reference_parse() limits
 * its length. */
static void file_of(const struct reference *r, char ret[NAME_MAX + 1])
{
	char whole[REFERENCE_MAX];
	size_t len = 0;

	reference_print(r, whole);
	for (const char *at = whole; *at && len + strlen(SLASH) < NAME_MAX + 1; at++)
		if (*at == '/')
			len += (size_t)sprintf(ret + len, "%s", SLASH);
		else
			ret[len++] = *at;
	ret[len] = '\0';
}

/* Reads the reference from a file's name; false: the name is not that of any
 * reference. */
static bool reference_of(const char *file, struct reference *ret)
{
	char text[NAME_MAX + 1], again[NAME_MAX + 1];
	size_t len = 0;

	for (const char *at = file; *at && len < NAME_MAX;) {
		bool is_slash = !strncmp(at, SLASH, strlen(SLASH));
		text[len++] = is_slash ? '/' : *at;
		at += is_slash ? strlen(SLASH) : 1;
	}
	text[len] = '\0';
	if (file[0] == '.' || reference_parse(text, ret, NULL) < 0)
		return false;
	file_of(ret, again);
	return !strcmp(again, file);
}

/* --- one ----------------------------------------------------------------------- */

static int read_link(int folder, const char *file, struct digest *ret)
{
	struct digest d;
	ssize_t len = readlinkat(folder, file, d.hex, sizeof(d.hex));

	if (len < 0)
		return -1;
	d.hex[len == DIGEST_HEX ? DIGEST_HEX : 0] = '\0';
	if (!digest_is_hex(d.hex)) {
		errno = EINVAL;
		return -1;
	}
	*ret = d;
	return 0;
}

static int unknown(const struct reference *r, struct err *e)
{
	char text[REFERENCE_MAX];

	reference_print_short(r, text);
	(void)err_set(e, ERR_NOT_FOUND, "there is no image '%s' in the store", text);
	return err_remedy(e, "hutch image pull %.200s gets it; hutch image ls lists the "
			     "images", text);
}

int refs_get(const struct store *s, const struct reference *r, struct digest *ret,
	      struct err *e)
{
	char file[NAME_MAX + 1];
	AUTO_CLOSE int names = store_folder(s, STORE_NAMES, e);

	if (names < 0)
		return -1;
	file_of(r, file);
	if (read_link(names, file, ret) == 0)
		return 0;
	return errno == ENOENT ? unknown(r, e) : err_sys(e, "read the name %s", file);
}

static int put(const struct store *s, const struct reference *r,
	       const struct digest *image, unsigned flags, struct err *e)
{
	char file[NAME_MAX + 1];
	unsigned long long random;
	AUTO_CLOSE int names = store_folder(s, STORE_NAMES, e);

	if (names < 0)
		return -1;
	file_of(r, file);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "getrandom");
	AUTO_FREE char *fresh = text_format(".%016llx", random);
	if (symlinkat(image->hex, names, fresh) == 0 &&
	    sys_renameat2(names, fresh, names, file, flags) == 0)
		return 0;
	(void)err_sys(e, "make the name %s", file);
	(void)unlinkat(names, fresh, 0); /* fails if no link was made, which does no
					  * harm */
	return -1;
}

int refs_put(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e)
{
	return put(s, r, image, 0, e);
}

int refs_add(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e)
{
	return put(s, r, image, KERNEL_RENAME_NOREPLACE, e);
}

int refs_remove(const struct store *s, const struct reference *r, struct err *e)
{
	char file[NAME_MAX + 1];
	AUTO_CLOSE int names = store_folder(s, STORE_NAMES, e);

	if (names < 0)
		return -1;
	file_of(r, file);
	if (unlinkat(names, file, 0) == 0)
		return 0;
	return errno == ENOENT ? unknown(r, e) : err_sys(e, "remove the name %s", file);
}

/* --- all ----------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_files(int folder, struct list *ret, struct err *e)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir) {
		own_close(&again);
		return err_sys(e, "read the names in the store");
	}
	while ((entry = readdir(dir)))
		list_add(ret, entry->d_name);
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare);
	return 0;
}

int refs_each(const struct store *s,
	      void (*take)(void *context, const struct reference *r,
			   const struct digest *image),
	      void *context, struct err *e)
{
	AUTO_CLOSE int names = store_folder(s, STORE_NAMES, e);
	struct list files = { 0 };

	if (names < 0)
		return -1;
	int rc = list_files(names, &files, e);
	for (size_t i = 0; i < files.count; i++) {
		struct reference r;
		struct digest image;
		if (reference_of(files.items[i], &r) &&
		    read_link(names, files.items[i], &image) == 0)
			take(context, &r, &image);
	}
	list_done(&files);
	return rc;
}
