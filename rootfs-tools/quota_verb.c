/* hutch image quota: how large the store is, and may become. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "policy/units.h"
#include "rootfs-tools/layers/quota.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/store.h"

static void print(const struct store *s)
{
	uint64_t max = quota_get(s);
	AUTO_FREE char *used = table_bytes(quota_used(s));
	AUTO_FREE char *bound = table_bytes(max);

	if (max == QUOTA_NONE)
		(void)printf("%s used, no bound\n", used);
	else
		(void)printf("%s of %s used\n", used, bound);
}

static int quota(const char *text, struct err *e)
{
	uint64_t max = QUOTA_NONE;
	struct store s;

	if (text && strcmp(text, "none") && units_parse_bytes(text, &max, e) < 0)
		return -1;
	if (store_open(&s, true, e) < 0)
		return -1;
	int rc = text ? quota_set(&s, max, e) : 0;
	if (rc == 0)
		print(&s);
	store_done(&s);
	return rc;
}

int image_quota_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch image quota [SIZE | none]",
		.about =
			"Says how large the store may become, such as 20g; and prints how large it "
			"is.",
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(quota(argv[0], &e), &e);
}
