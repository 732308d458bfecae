/* hutch-image: images without Docker.  See docs/hutch-image.md. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/nearest.h"
#include "base/own.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"

static int help_main(char **argv);

static const struct verb {
	const char *name, *help;  /* help NULL: not listed */
	int (*main)(char **argv); /* argv has the words after the verb */
} verbs[] = {
	{ "build", "make one as a Dockerfile says", image_build_main },
	{ "runtime-build", "make OpenHands' runtime of one", image_runtime_build_main },
	{ "pull", "get images from registries", image_pull_main },
	{ "import", "take one from a folder or an archive", image_import_main },
	{ "export", "write one as an OCI layout or a folder", image_export_main },
	{ "ls", "list those that are there", image_ls_main },
	{ "inspect", "all that is known of one, as JSON", image_inspect_main },
	{ "exists", "whether one is there: exit code 0 or 1", image_exists_main },
	{ "tag", "give one another name", image_tag_main },
	{ "rm", "remove names, and images left without one", image_rm_main },
	{ "gc", "remove images, layers and blobs that are unused", image_gc_main },
	{ "quota", "how large the store is, and may become", image_quota_main },
	{ "verify", "check the digests of all that is in the store", image_verify_main },
	{ "help", "print this", help_main },
	/* Verbs that hutch itself runs, not people. */
	{ "launch-pull", NULL, image_launch_pull_main },
	{ "launch-ranged", NULL, image_launch_ranged_main },
	{ "snapshot", NULL, image_snapshot_main },
	{ "commit", NULL, image_commit_main },
	{ "fork-source", NULL, image_fork_source_main },
	{ "copy-root", NULL, image_copy_root_main },
};

static int help_main(char **argv)
{
	(void)argv;
	(void)printf("hutch image VERB [OPTIONS]\n\nImages, without Docker.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].help)
			(void)printf("  %-13s %s\n", verbs[i].name, verbs[i].help);
	(void)printf(
		"\nhutch image VERB --help lists its flags; man hutch-image explains them.\n");
	return 0;
}

static int unknown_verb(const char *name)
{
	const char *meant = subcommands_meant(name);
	struct nearest n;
	struct err e;

	nearest_init(&n, meant, strlen(meant));
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].help)
			nearest_try(&n, verbs[i].name);
	(void)err_set(&e, ERR_USAGE, "'%.60s' is not a verb of hutch image", name);
	(void)nearest_suggest(&n, "", &e);
	(void)err_remedy(&e, "hutch image help lists them");
	report_error(&e);
	return EXIT_HUTCH;
}

int main(int argc, char **argv)
{
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	if (argc < 2) {
		(void)help_main(argv + argc);
		return EXIT_HUTCH;
	}
	const char *name = argv[1];
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(name, verbs[i].name))
			return report_exit(verbs[i].main(argv + 2));
	return unknown_verb(name);
}
