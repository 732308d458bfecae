#include "rootfs-tools/export_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "base/worker.h"
#include "rootfs-tools/layers/image_copy.h"
#include "store/launch_config.h"
#include "store/rm_tree.h"
#include "store/store.h"

/* Runs in a process of its own: the copy changes the working directory. */
static int copy_it(void *arg, void *result, struct err *e)
{
	return image_copy_make(arg, result, e);
}

static void tell_left_out(const struct image_copy_sum *sum)
{
	AUTO_FREE char *first = term_escape_line(sum->first);

	if (sum->left_out)
		note_print("note: %llu of the image cannot be copied and %s not in the "
			   "folder, such as %s",
			   (unsigned long long)sum->left_out,
			   sum->left_out == 1 ? "is" : "are", first);
}

static int copy(const struct store *s, const struct list *layers, int to, struct err *e)
{
	AUTO_CLOSE int from = store_folder(s, STORE_LAYERS, e);
	struct image_copy r = { .hexes = layers, .from = from, .to = to };
	const struct worker_task task = { .name = "the process that copies the image",
					  .work = copy_it,
					  .arg = &r,
					  .result_len = sizeof(struct image_copy_sum),
					  .has_all_fds = true };
	struct image_copy_sum sum = { 0 };

	if (from < 0)
		return -1;
	if (layers->count && worker_run(&task, &sum, e) < 0)
		return -1;
	tell_left_out(&sum);
	return 0;
}

/* Fills the folder.  An image may say that its root has another mode; this one stays open
 * to its owner, who could not remove it otherwise. */
static int fill(const struct store *s, const struct digest *image, const char *path,
		struct err *e)
{
	struct launch_config config;
	int lock;

	AUTO_CLOSE int to = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return err_sys(e, "open %.300s", path);
	if (launch_config_open(s, image, &config, &lock, e) < 0)
		return -1;
	int rc = copy(s, &config.layers, to, e);
	launch_config_done(&config);
	own_close(&lock);
	return rc == 0 && fchmod(to, 0755) < 0 ? err_sys(e, "open %.300s to others", path)
					       : rc;
}

/* rename(2) also replaces an empty folder, and nothing else. */
int export_root_name(const char *fresh, const char *path, struct err *e)
{
	if (rename(fresh, path) == 0)
		return 0;
	const int why = errno;
	(void)err_sys(e, "make %.300s", path);
	return why == ENOTEMPTY || why == EEXIST || why == ENOTDIR
		       ? err_remedy(e, "-o takes a folder that is empty, or a new name")
		       : -1;
}

int export_root(const struct store *s, const struct digest *image, const char *path,
		struct err *e)
{
	AUTO_FREE char *fresh = text_format("%s.%d.part", path, getpid());

	if (mkdir(fresh, 0700) < 0)
		return err_sys(e, "make %.300s", fresh);
	int rc = fill(s, image, fresh, e);
	if (rc == 0)
		rc = export_root_name(fresh, path, e);
	if (rc < 0)
		rm_tree_remove(AT_FDCWD, fresh);
	return rc;
}
