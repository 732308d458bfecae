/* hutch-image copy-root WHY [HEX...]
 *
 * A launch runs this where it cannot mount overlayfs.  Its standard input is the
 * store's folder of layers or, without a HEX, a folder to be copied; the copy goes to
 * the empty folder that is its standard output.  The launcher has checked both folders,
 * so it passes descriptors, not paths.  Each process that writes to the copy holds the
 * leash, a pipe's end by which the launcher sees when all have ended
 * (sandbox/plan/image_tool.h).  WHY, the reason for the copy, is quoted in a note to
 * the user. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/report.h"
#include "rootfs-tools/layers/image_copy.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "sandbox/plan/image_tool.h"

static int copy(const struct list *hexes, struct err *e)
{
	/* Duplicates the leash to a number above those of the descriptors that the
	 * launcher passed. */
	AUTO_CLOSE int leash =
		fcntl(IMAGE_TOOL_LEASH, F_DUPFD_CLOEXEC, IMAGE_TOOL_LEASH + 1);
	AUTO_CLOSE int from = fcntl(0, F_DUPFD_CLOEXEC, IMAGE_TOOL_LEASH + 1);
	AUTO_CLOSE int to = fcntl(1, F_DUPFD_CLOEXEC, IMAGE_TOOL_LEASH + 1);
	const struct image_copy r = { .hexes = hexes->count ? hexes : NULL, .from = from,
				   .to = to, .leash = leash };
	struct image_copy_sum sum;

	if (leash < 0 || from < 0 || to < 0)
		return err_sys(e, "take the descriptors that hutch passes");
	if (image_copy_make(&r, &sum, e) < 0)
		return -1;
	if (!sum.left_out)
		return 0;
	AUTO_FREE char *first = term_escape_line(sum.first);
	note_print("note: %llu of the image cannot be copied and %s not in it, such as "
		   "%s", (unsigned long long)sum.left_out,
		   sum.left_out == 1 ? "is" : "are", first);
	return 0;
}

int image_copy_root_main(char **argv)
{
	struct list hexes = { 0 };
	struct err e;

	if (!argv[0]) {
		(void)err_set(&e, ERR_USAGE, "copy-root is a verb of hutch's own");
		report_error(&e);
		return EXIT_HUTCH;
	}
	note_print("note: the root is a copy of the image, since there is no overlayfs "
		   "here (%s); hutch diff and snapshot cannot show files written to it",
		   argv[0]);
	for (size_t i = 1; argv[i]; i++)
		list_add(&hexes, argv[i]);
	int rc = copy(&hexes, &e);
	list_done(&hexes);
	return report_end(rc, &e);
}
