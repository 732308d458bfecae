/* hutch image pull: fetches images from registries. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/registry/fetch.h"
#include "rootfs-tools/registry/http.h"
#include "rootfs-tools/registry/mirrors.h"
#include "rootfs-tools/registry/progress.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/image_nearest.h"
#include "store/reference.h"
#include "store/store.h"

struct pull {
	struct store store;
	struct mirrors mirrors;
	struct platform wanted;
	const struct platform *platform; /* NULL: this machine's */
	bool is_quiet, is_plain;
};

static void add_insecure(struct mirrors *m, const char *hosts)
{
	for (const char *at = hosts; at && *at;) {
		const size_t len = strcspn(at, ",");
		if (len)
			list_addf(&m->insecure, "%.*s", (int)len, at);
		at += len + (at[len] == ',');
	}
}

static int open_pull(struct pull *p, const char *platform, const char *insecure,
		     struct err *e)
{
	/* If a helper or a server closes its end, write(2) fails with EPIPE. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (platform) {
		if (platform_parse(platform, &p->wanted, e) < 0)
			return err_from(e, "--platform");
		p->platform = &p->wanted;
	}
	add_insecure(&p->mirrors, insecure);
	if (http_begin(e) < 0 || mirrors_open(&p->mirrors, e) < 0)
		return -1;
	return store_open(&p->store, true, e);
}

static int get_one(const struct pull *p, const char *text, struct reference *ret,
		   struct err *e)
{
	struct progress progress = { .style = progress_style(p->is_quiet, !p->is_plain) };
	struct digest digest;

	if (reference_parse(text, ret, e) < 0)
		return -1;
	AUTO_CLOSE int lock = store_lock(&p->store, false, true, e);
	if (lock < 0)
		return -1;
	int rc = fetch_image(&p->store, &p->mirrors, ret, p->platform, &progress, &digest,
			     e);
	/* A registry refuses names that it does not have if it wants a login. */
	if (rc < 0 && (e->kind == ERR_NOT_FOUND || e->kind == ERR_REFUSED))
		(void)image_nearest_in(&p->store, text, e);
	if (rc < 0)
		return err_in(e, "pull %s", text);
	ret->tag[0] = '\0';
	ret->pin = digest;
	return 0;
}

static int pull_one(const struct pull *p, const char *text, struct err *e)
{
	struct reference r;
	char name[REFERENCE_MAX];

	if (get_one(p, text, &r, e) < 0)
		return -1;
	reference_print(&r, name);
	(void)printf("%s\n", name);
	(void)report_flush(); /* main() reports a failure */
	return 0;
}

static int pull_all(struct pull *p, char **refs)
{
	int code = 0;
	struct err e = { 0 };

	for (; *refs; refs++)
		if (pull_one(p, *refs, &e) < 0) {
			report_error(&e);
			code = EXIT_HUTCH;
		}
	return code;
}

int image_pull_main(char **argv)
{
	struct pull p = { 0 };
	const char *platform = NULL, *insecure = NULL;
	const struct flag flags[] = {
		{ 'q', "quiet", NULL, "say nothing but the result and errors",
		  &p.is_quiet, NULL },
		{ 0, "platform", "OS/ARCH", "for another machine than this", NULL,
		  &platform },
		{ 0, "insecure", "HOST", "trust it without TLS; several with commas",
		  NULL, &insecure },
		{ 0, "no-progress", NULL, "lines, even on a terminal", &p.is_plain,
		  NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image pull [OPTIONS] REF...",
		.about =
			"Gets images from registries, and prints each one's pinned reference.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct err e = { 0 };
	int code = EXIT_HUTCH;

	enum flags_result got = flags_begin(argv, &usage);
	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	store_init(&p.store);
	mirrors_init(&p.mirrors);
	if (open_pull(&p, platform, insecure, &e) < 0)
		report_error(&e);
	else
		code = pull_all(&p, argv);
	mirrors_done(&p.mirrors);
	store_done(&p.store);
	return code;
}

/* Pulls for a launch (sandbox/plan/store_image.c), which waits for the result: the store
 * has the image then, or stdout carries one struct err. */
int image_launch_pull_main(char **argv)
{
	struct pull p = { 0 };
	struct reference r;
	struct err e = { 0 };

	store_init(&p.store);
	mirrors_init(&p.mirrors);
	int rc = *argv ? 0 : err_set(&e, ERR_USAGE, "pull what?");
	if (rc == 0)
		rc = open_pull(&p, NULL, NULL, &e);
	if (rc == 0)
		rc = get_one(&p, *argv, &r, &e);
	mirrors_done(&p.mirrors);
	store_done(&p.store);
	if (rc < 0)
		(void)io_write_all(STDOUT_FILENO, &e, sizeof(e)); /* fails only if the
								   * launch is gone */
	return rc < 0 ? EXIT_HUTCH : 0;
}
