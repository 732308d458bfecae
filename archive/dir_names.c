#include "archive/dir_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static void add_name(struct dir_names *r, const char *name, uint8_t type)
{
	size_t len = strlen(name) + 1;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return;
	if (r->len + len + 1 > r->room) {
		r->room = 2 * (r->len + len + 1);
		r->text = mem_resize(r->text, r->room, 1);
	}
	memcpy(r->text + r->len, name, len);
	r->text[r->len + len] = (char)type;
	r->len += len + 1;
	r->count++;
}

int dir_names_read(int folder, size_t max, struct dir_names *ret)
{
	_Alignas(struct kernel_dirent) char chunk[32 << 10];
	long got;

	*ret = (struct dir_names){ 0 };
	while ((got = syscall(SYS_getdents64, folder, chunk, sizeof(chunk))) > 0) {
		for (long at = 0; at < got;) {
			const struct kernel_dirent *d = (void *)(chunk + at);
			add_name(ret, d->name, d->type);
			at += d->reclen;
		}
		if (ret->len > max) {
			errno = EOVERFLOW;
			return -1;
		}
	}
	if (got < 0 && errno == EBADF)
		errno = EACCES; /* getdents64(2) says EBADF for an O_PATH descriptor:
				 * the folder may not be read */
	return got < 0 ? -1 : 0;
}

void dir_names_done(struct dir_names *r)
{
	free(r->text);
	free(r->sorted);
	*r = (struct dir_names){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void dir_names_sort(struct dir_names *r)
{
	const char *at = r->text;

	r->sorted = mem_new(r->count * sizeof(*r->sorted));
	for (size_t i = 0; i < r->count; i++) {
		r->sorted[i] = at;
		at += strlen(at) + 2;
	}
	if (r->count > 1)
		qsort(r->sorted, r->count, sizeof(*r->sorted), by_bytes);
	r->next = 0;
}

const char *dir_names_next(struct dir_names *r)
{
	if (r->sorted)
		return r->next < r->count ? r->sorted[r->next++] : NULL;
	if (r->next == r->len)
		return NULL;
	const char *name = r->text + r->next;
	r->next += strlen(name) + 2;
	return name;
}

bool dir_names_is_file(const char *name)
{
	return name[strlen(name) + 1] == DT_REG;
}

ssize_t dir_names_find(const struct dir_names *r, const char *name)
{
	const char **found = r->count ? bsearch(&name, r->sorted, r->count,
						sizeof(*r->sorted), by_bytes)
				      : NULL;

	return found ? found - r->sorted : -1;
}
