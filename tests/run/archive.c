/* archive -- packs and unpacks as hutch cp does, without a sandbox, so that
 * tests can compare it with other programs.
 *
 *	archive pack [-L] AS PATH [AS PATH]...	a tar to stdout
 *	archive unpack [-n NAME] [-b BYTES] [-e ENTRIES] [-o] DIR	from stdin
 *
 * Files that cannot be packed or unpacked are listed on stderr as "left out: NAME:
 * WHY"; -o keeps the owners. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/pack.h"
#include "archive/unpack.h"
#include "base/err.h"

static void tell(void *context, const char *path, const char *why)
{
	(void)fprintf(stderr, "%s: %s: %s\n", (const char *)context, path, why);
}

static int fail(const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", err_kind_name(e->kind), e->text);
	return 1;
}

static int run_pack(int argc, char **argv)
{
	struct pack p = { .out = 1,
			  .context = (char[]){ "left out" },
			  .on_left_out = tell };
	struct err e;
	int i = 2, result = 0;

	if (i < argc && !strcmp(argv[i], "-L")) {
		p.follows = true;
		i++;
	}
	for (; result == 0 && i + 1 < argc; i += 2)
		result = pack_add(&p, AT_FDCWD, argv[i + 1], argv[i], &e);
	if (result == 0)
		result = pack_end(&p, &e);
	(void)fprintf(stderr, "packed: %llu, %llu bytes\n", (unsigned long long)p.entries,
		      (unsigned long long)p.bytes);
	pack_done(&p);
	return result < 0 ? fail(&e) : 0;
}

static int run_unpack(int argc, char **argv)
{
	struct unpack u = { .context = (char[]){ "left out" }, .on_left_out = tell };
	struct err e;
	int option;

	while ((option = getopt(argc - 1, argv + 1, "n:b:e:o")) != -1)
		switch (option) {
		case 'n':
			u.rename = optarg;
			break;
		case 'b':
			u.bytes_max = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			u.entries_max = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			u.keeps_ids = u.keeps_setid = true;
			break;
		default:
			return 2;
		}
	u.root = open(argv[optind + 1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (u.root < 0) {
		perror(argv[optind + 1]);
		return 2;
	}
	int result = unpack_all(&u, &e);
	(void)fprintf(stderr, "unpacked: %llu, %llu bytes\n",
		      (unsigned long long)u.entries, (unsigned long long)u.bytes);
	return result < 0 ? fail(&e) : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "pack"))
		return run_pack(argc, argv);
	if (argc >= 3 && !strcmp(argv[1], "unpack"))
		return run_unpack(argc, argv);
	return 2;
}
