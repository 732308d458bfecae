/* layer -- unpacks one layer into the store below $XDG_DATA_HOME, for tests and benchmarks:
 *
 *	layer BLOB [DIFF_ID|- [ENTRIES_MAX [BYTES_MAX]]]
 *
 * Prints "DIFF_ID ENTRIES BYTES LEFT_OUT HIDES_ALL", or "KIND: TEXT" to stderr. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/layers/layers.h"
#include "store/store.h"

static int unpack(const struct store *s, char **argv, struct err *e)
{
	AUTO_CLOSE int blob = open(argv[1], O_RDONLY | O_CLOEXEC);
	bool has_id = argv[2] && strcmp(argv[2], "-") != 0;
	struct layer_limits limits = { 0 };
	struct layer_about about;
	struct digest id, is;
	char text[DIGEST_TEXT];

	if (blob < 0)
		return err_sys(e, "open %s", argv[1]);
	if (has_id && digest_parse(argv[2], &id, e) < 0)
		return -1;
	if (argv[2] && argv[3])
		limits.entries_max = strtoull(argv[3], NULL, 10);
	if (argv[2] && argv[3] && argv[4])
		limits.bytes_max = strtoull(argv[4], NULL, 10);
	if (layers_unpack(s, blob, has_id ? &id : NULL, &limits, &is, &about, e) < 0)
		return -1;
	digest_print(&is, text);
	(void)printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", text, about.entries,
		     about.bytes, about.left_out, about.hides_all);
	return 0;
}

int main(int argc, char **argv)
{
	struct store s;
	struct err e = { 0 };

	if (argc < 2)
		return 2;
	store_init(&s);
	int rc = store_open(&s, true, &e) < 0 ? -1 : unpack(&s, argv, &e);
	if (rc < 0)
		(void)fprintf(stderr, "%s: %s\n%s\n", err_kind_name(e.kind), e.text,
			      e.remedy);
	store_done(&s);
	return rc < 0;
}
