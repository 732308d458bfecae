/* zips -- zips that Python's zipfile makes and reads, in the folder of a scene.  Include it
 * behind cmocka.h. */
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/unit/scene.h"

/* put(): adds an entry with a mode and a type. */
#define ZIPS_PYTHON                                                              \
	"import random, stat, struct, tarfile, zipfile\n"                        \
	"def put(z, name, data='x', mode=0o644, kind=stat.S_IFREG, method=8):\n" \
	"    i = zipfile.ZipInfo(name)\n"                                        \
	"    i.external_attr = (kind | mode) << 16\n"                            \
	"    i.compress_type = method\n"                                         \
	"    z.writestr(i, data)\n"

/* Runs a program of Python in the scene's folder, which has to succeed. */
static inline void zips_python(void **state, const char *program)
{
	AUTO_FREE char *path = scene_path(state, "program.py");
	AUTO_FREE char *line = text_format(
		"cd %s && exec python3 -SE program.py >printed", (const char *)*state);
	AUTO_FREE char *text = text_format("%s%s", ZIPS_PYTHON, program);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	if (system(line) != 0)
		fail_msg("%s", program);
}

/* The text that the last program printed, allocated. */
static inline char *zips_printed(void **state)
{
	AUTO_FREE char *path = scene_path(state, "printed");
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err e;
	char *text;
	size_t len;

	assert_int_equal(io_read_file(fd, path, 16 << 20, &text, &len, &e), 0);
	return text;
}

static inline int zips_open(void **state, const char *name, int flags)
{
	AUTO_FREE char *path = scene_path(state, name);
	int fd = open(path, flags | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}
