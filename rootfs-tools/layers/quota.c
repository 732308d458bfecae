#include "rootfs-tools/layers/quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/table.h"
#include "policy/units.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/ranged.h"
#include "store/store.h"

#define QUOTA_FILE  "max-size"
#define QUOTA_FRESH "." QUOTA_FILE

/* --- the bound ----------------------------------------------------------------- */

uint64_t quota_get(const struct store *s)
{
	char text[32] = "";
	uint64_t max;
	AUTO_CLOSE int fd = openat(s->root, QUOTA_FILE,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return QUOTA_NONE;
	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return units_parse_number(text, &max, NULL) < 0 ? 0 : max;
}

int quota_set(const struct store *s, uint64_t max, struct err *e)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)max);

	if (max == QUOTA_NONE &&
	    (unlinkat(s->root, QUOTA_FILE, 0) == 0 || errno == ENOENT))
		return 0;
	if (max == QUOTA_NONE)
		return err_sys(e, "remove the bound of the store");
	AUTO_CLOSE int fd = openat(s->root, QUOTA_FRESH,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
				   0600);
	if (fd < 0 || io_write_all(fd, text, (size_t)len) < 0 ||
	    renameat(s->root, QUOTA_FRESH, s->root, QUOTA_FILE) < 0)
		return err_sys(e, "write the bound of the store");
	return 0;
}

/* --- what is there ------------------------------------------------------------- */

/* Returns the bytes of the files in one of the store's folders. */
static uint64_t files_in(const struct store *s, const char *folder)
{
	int fd = store_folder(s, folder, NULL);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	if (!dir) {
		own_close(&fd);
		return 0;
	}
	while ((entry = readdir(dir)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	return bytes;
}

static uint64_t layers_in(const struct store *s)
{
	int fd = store_folder(s, STORE_LAYERS, NULL);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t bytes = 0;

	if (!dir) {
		own_close(&fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		struct layer_about about;
		struct digest d;
		if (!digest_is_hex(entry->d_name))
			continue;
		memcpy(d.hex, entry->d_name, sizeof(d.hex));
		if (layers_has(s, &d, &about))
			bytes += about.bytes;
	}
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	return bytes;
}

uint64_t quota_used(const struct store *s)
{
	return files_in(s, STORE_BLOBS) + files_in(s, STORE_TMP) + layers_in(s) +
	       ranged_bytes(s);
}

uint64_t quota_room(const struct store *s)
{
	uint64_t max = quota_get(s);

	if (max == QUOTA_NONE)
		return QUOTA_NONE;
	uint64_t used = quota_used(s);
	return used < max ? max - used : 0;
}

int quota_is_full(const struct store *s, struct err *e)
{
	AUTO_FREE char *max = table_bytes(quota_get(s));

	(void)err_set(e, ERR_LIMIT,
		      "there is no more room in the store, which may have %s", max);
	return err_remedy(
		e, "hutch image gc or rm makes room; hutch image quota SIZE gives more");
}

bool quota_no_room(const struct err *e)
{
	return e && (e->sys == ENOSPC || e->sys == EDQUOT);
}
