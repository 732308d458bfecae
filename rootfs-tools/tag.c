/* hutch image tag and exists: set and look up names. */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/refs.h"
#include "store/store.h"

/* exit code of hutch image exists for "no", which a shell can test */
#define EXIT_NO 1

/* --- tag ----------------------------------------------------------------------- */

static int tag_in(const struct store *s, const char *text, const struct reference *fresh,
		  struct err *e)
{
	struct digest image;
	AUTO_CLOSE int lock = store_lock(s, false, true, e);

	if (lock < 0 || store_index_resolve(s, text, &image, NULL, e) < 0)
		return -1;
	return refs_put(s, fresh, &image, e);
}

static int tag(const char *text, const char *fresh, struct err *e)
{
	struct reference r;
	struct store s;

	if (reference_parse_name(fresh, &r, e) < 0 || store_open(&s, false, e) < 0)
		return -1;
	int rc = tag_in(&s, text, &r, e);
	store_done(&s);
	return rc;
}

int image_tag_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch image tag REF NEW",
		.about = "Gives an image one more name; an image that had the name loses "
			 "it.",
		.operands_min = 2, .operands_max = 2,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(tag(argv[0], argv[1], &e), &e);
}

/* --- exists -------------------------------------------------------------------- */

static int exists(const char *text, struct err *e)
{
	struct digest image;
	struct store s;

	if (store_open(&s, false, e) < 0)
		return -1;
	int rc = store_index_resolve(&s, text, &image, NULL, e);
	store_done(&s);
	return rc;
}

int image_exists_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch image exists REF",
		.about =
			"Exits with 0 where the image is in the store, with 1 where it is not.",
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (exists(argv[0], &e) == 0)
		return 0;
	if (e.kind == ERR_NOT_FOUND)
		return EXIT_NO;
	report_error(&e);
	return EXIT_HUTCH;
}
