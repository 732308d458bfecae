/* The files of an audit log, with any bytes, since their owner can write them.
 * They are read to their end; an entry's values lie inside its line; complete
 * lines carry each other's hashes, so that a change of the first one is found.
 * If nothing is broken an entry can be added, and the log is intact after that. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "store/ledger.h"
#include "store/ledger_check.h"
#include "store/ledger_walk.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/hutch-fuzz-ledger.XXXXXX";

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void tidy_up(void)
{
	AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)unlinkat(dir, "log.1", 0);
	(void)unlinkat(dir, "log.2", 0);
	(void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	claim(mkdtemp(folder) != NULL);
	return atexit(tidy_up);
}

static void put(int dir, const char *name, const uint8_t *data, size_t size)
{
	AUTO_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	claim(fd >= 0 && io_write_all(fd, data, size) == 0);
}

/* Copied to its exact size, so that a read beyond it is noticed. */
static void check_entry(const struct ledger_line *line)
{
	char *copy = malloc(line->len);
	struct ledger_entry x;

	claim(copy != NULL);
	memcpy(copy, line->text, line->len);
	if (ledger_read_entry(copy, line->len, &x)) {
		claim(x.seq > 0 && digest_is_hex(x.prev.hex));
		claim(x.time >= copy && x.time + x.time_len < copy + line->len);
		claim(x.event >= copy && x.event + x.event_len < copy + line->len);
	}
	free(copy);
}

/* Reads all entries of the log.  Returns 0 if the log is intact. */
static int walk(size_t size, struct ledger_check *c)
{
	const struct list none = { 0 };
	struct ledger_walk w;
	struct ledger_line line;
	size_t bytes = 0;
	int result = 0;
	struct err e;

	claim(ledger_check_begin(c, &none, &e) == 0 &&
	      ledger_walk_open(&w, folder, &e) == 0);
	while (ledger_walk_next(&w, &line, &e) > 0) {
		claim(line.len > 0 && line.len <= LEDGER_ENTRY_MAX);
		bytes += line.len;
		check_entry(&line);
		if (result == 0)
			result = ledger_check_line(c, &line, &e);
	}
	ledger_walk_done(&w);
	claim(!size || bytes == size);
	return result == 0 ? ledger_check_end(c, &e) : result;
}

/* Half of the input goes into each of two files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t half = size && data[0] == '+' ? size / 2 : size;
	struct ledger_check before, behind;
	struct ledger l;
	struct err e;

	put(dir, "log.1", data, half);
	(void)unlinkat(dir, "log.2", 0);
	if (half < size)
		put(dir, "log.2", data + half, size - half);
	int is_broken = walk(size, &before);
	ledger_init(&l);
	if (ledger_open(&l, folder, &e) == 0 &&
	    ledger_add(&l, "x", "\"a\":1", false, &e) == 0 && is_broken == 0) {
		claim(walk(0, &behind) == 0 && behind.torn_len == 0);
		claim(behind.entries == before.entries + 1 + (before.torn_len > 0));
	}
	ledger_done(&l);
	return 0;
}
