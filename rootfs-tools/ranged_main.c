/* hutch-image launch-ranged MAPS HEX...
 *
 * A launch runs this for an image of the store with --idmap ranges.  It makes the missing
 * copies of these layers (rootfs-tools/layers/ranged.h).  A failure is written to stdout as one
 * struct err, which becomes the launch's error. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/table.h"
#include "rootfs-tools/layers/ranged.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/launch/result.h"
#include "store/digest.h"
#include "store/store.h"

/* With less work than this no note is printed: it takes no longer than the launch
 * itself. */
#define TOLD_ENTRIES 500
#define TOLD_BYTES   (16u << 20)

static void tell(const struct ranged_todo *t)
{
	AUTO_FREE char *bytes = table_bytes(t->bytes);

	if (t->entries < TOLD_ENTRIES && t->bytes < TOLD_BYTES)
		return;
	note_print("note: --idmap ranges: %zu layer%s of the image (%" PRIu64
		   " entries, %s) %s copied once, so that files belong to the image's "
		   "users",
		   t->layers, t->layers == 1 ? "" : "s", t->entries, bytes,
		   t->layers == 1 ? "is" : "are");
}

static int take_digests(char **argv, struct list *ret, struct err *e)
{
	for (; *argv; argv++) {
		if (!digest_is_hex(*argv))
			return err_set(e, ERR_USAGE, "'%.80s' is no digest", *argv);
		list_add(ret, *argv);
	}
	return 0;
}

static int make(const struct idmaps *maps, const struct list *hexes, struct err *e)
{
	struct store s;

	store_init(&s);
	if (store_open(&s, false, e) < 0)
		return -1;
	AUTO_CLOSE int lock = store_lock(&s, false, true, e);
	int rc = lock < 0 ? -1 : ranged_make(&s, maps, hexes, tell, e);
	store_done(&s);
	return rc;
}

int image_launch_ranged_main(char **argv)
{
	struct list hexes = { 0 };
	struct err e = { 0 };
	struct idmaps maps;
	int rc = *argv ? idmaps_parse(*argv, &maps, &e)
		       : err_set(&e, ERR_USAGE, "which maps?");

	if (rc == 0 && take_digests(argv + 1, &hexes, &e) == 0)
		rc = make(&maps, &hexes, &e);
	else
		rc = -1;
	list_done(&hexes);
	if (rc < 0)
		(void)io_write_all(STDOUT_FILENO, &e, sizeof(e)); /* fails only if the
								   * launch is gone */
	return rc < 0 ? EXIT_HUTCH : 0;
}
