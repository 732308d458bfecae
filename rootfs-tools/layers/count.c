#include "rootfs-tools/layers/count.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fnv1a.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "sandbox/root/jail.h"

static void add(struct count *c, const void *data, size_t len)
{
	c->sum = fnv1a(c->sum, data, len);
}

static void add_item(struct count *c, const struct upper_scan_item *item)
{
	const struct stat *st = &item->st;
	bool is_file = S_ISREG(st->st_mode);
	/* Only the times of files and links are fixed by the tar.  Whiteouts, and
	 * folders that the tar does not name, get the time of unpacking. */
	bool has_time = is_file || S_ISLNK(st->st_mode);
	const uint64_t facts[] = {
		(uint64_t)item->kind, st->st_mode, is_file ? (uint64_t)st->st_size : 0,
		has_time ? (uint64_t)st->st_mtim.tv_sec : 0,
		has_time ? (uint64_t)st->st_mtim.tv_nsec : 0,
	};

	c->entries++;
	c->bytes += is_file ? (uint64_t)st->st_size : 0;
	add(c, item->path, strlen(item->path) + 1);
	add(c, facts, sizeof(facts));
}

int count_tree(int folder, struct count *ret, struct err *e)
{
	struct upper_scan d = { 0 };
	struct upper_scan_item item;
	struct count c = { .sum = FNV1A_START };
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), more;

	if (again < 0)
		return err_sys(e, "open the layer's folder");
	more = upper_scan_begin(&d, again, e) < 0 ? -1 : 1;
	while (more > 0 && (more = upper_scan_next(&d, &item, e)) > 0)
		if (item.kind != UPPER_SCAN_FOLDER_END)
			add_item(&c, &item);
	upper_scan_done(&d);
	if (more == 0)
		*ret = c;
	return more;
}

/* --- in a jail ----------------------------------------------------------------- */

struct report {
	struct err error;
	struct count count;
};

static void work(const void *arg, int folder, int in, void *result)
{
	const struct counting *c = arg;
	struct report *r = result;

	(void)in;
	AUTO_CLOSE int at = openat(folder, c->below ? c->below : ".",
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		(void)err_sys(&r->error, "open the layer's folder");
	else
		(void)count_tree(at, &r->count, &r->error);
}

static int count_it(void *arg, void *result, struct err *e)
{
	struct report r = { 0 };
	const struct counting *c = arg;
	const struct jail j = { .folder = c->folder, .in = -1, .ranges = c->ranges,
				.reads_all = c->ranges != NULL,
				.is_read_only = c->ranges != NULL,
				.uid = geteuid(), .gid = getegid(),
				.work = work, .arg = c, .result_len = sizeof(r) };
	if (jail_run(&j, &r, e) < 0)
		return -1;
	if (r.error.kind != ERR_NONE) {
		err_sanitize(&r.error);
		*e = r.error;
		return -1;
	}
	memcpy(result, &r.count, sizeof(r.count));
	return 0;
}

int count_in_jail(const struct counting *c, struct count *ret, struct err *e)
{
	struct counting mine = *c;
	const struct worker_task task = { .name = "the process that counts a layer",
					  .work = count_it,
					  .arg = &mine,
					  .result_len = sizeof(*ret),
					  .has_all_fds = true };

	return worker_run(&task, ret, e);
}
