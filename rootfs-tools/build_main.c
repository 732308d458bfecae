/* hutch image build. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/build/build.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/digest.h"

static int check(struct build_options *o, struct err *e)
{
	if (build_check_network(&o->network, e) < 0)
		return -1;
	for (size_t i = 0; i < o->args.count; i++) {
		const char *arg = o->args.items[i], *value = getenv(arg);
		if (strchr(arg, '=') && *arg != '=')
			continue;
		if (!value || *arg == '=')
			return err_set(e, ERR_USAGE,
				       "--build-arg %.60s: NAME=VALUE, or the name "
				       "of a variable that is set, is expected",
				       arg);
		char *pair = text_format("%s=%s", arg, value);
		free(o->args.items[i]);
		o->args.items[i] = pair;
	}
	return 0;
}

static int build(struct build_options *o)
{
	struct digest image;
	char text[DIGEST_TEXT];
	struct err e = { 0 };

	if (check(o, &e) < 0 || build_image(o, &image, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	digest_print(&image, text);
	(void)printf("%s\n", text);
	return 0;
}

int image_build_main(char **argv)
{
	struct build_options o = { 0 };
	const struct flag flags[] = {
		{ 'f', "file", "FILE", "the Dockerfile (default CONTEXT/Dockerfile)",
		  NULL, &o.file },
		{ 't', "tag", "REF...", "the image's name; may be repeated", NULL,
		  &o.tags },
		{ 0, "build-arg", "NAME[=VALUE]...",
		  "for an ARG; without a value, the caller's", NULL, &o.args },
		{ 0, "target", "STAGE", "build no further than this", NULL, &o.target },
		{ 0, "no-cache", NULL, "do everything anew", &o.ignores_cache, NULL },
		{ 0, "pull", NULL, "ask registries for newer base images", &o.pulls,
		  NULL },
		{ 0, "network", "MODE", "none (default), allow, host or ns:PATH", NULL,
		  &o.network.mode },
		{ 0, "allow", "HOST[:PORT]...", "a host that a RUN may connect to", NULL,
		  &o.network.allow },
		{ 0, "add-host", "NAME:ADDRESS...", "a line of /etc/hosts in each RUN",
		  NULL, &o.network.add_hosts },
		{ 'q', "quiet", NULL, "print the digest alone", &o.is_quiet, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image build [OPTIONS] CONTEXT|-",
		.about = "Builds an image from a Dockerfile.  Each RUN is in a sandbox.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	enum flags_result read = flags_begin(argv, &usage);

	if (read == FLAGS_READ)
		o.context = argv[0];
	int code = read == FLAGS_HELP ? 0 : read == FLAGS_READ ? build(&o) : EXIT_HUTCH;
	list_done(&o.tags);
	list_done(&o.args);
	build_network_done(&o.network);
	return code;
}
