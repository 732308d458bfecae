/* regex FILE PATTERN...: how fast grep's own automaton and PCRE2 find the lines of a file
 * that match (docs/dependencies.md).  No program of hutch is linked with PCRE2, so this
 * one is compiled by hand (package libpcre2-dev), from the top of the tree:
 *
 *	cc -O2 -D_GNU_SOURCE -I. -o regex tests/bench/regex.c \
 *	  $(ls executor/search/[cln]*.c executor/search/pattern*.c base/[!g]*.c) -lpcre2-8
 *
 * Prints two lines for each pattern. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include <fcntl.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/err.h"
#include "executor/search/nfa_match.h"
#include "executor/search/pattern.h"

struct text {
	const uint8_t *start, *end;
};

struct found {
	long lines, refused; /* refused: lines at which the engine gave up */
};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* cannot fail */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const uint8_t *next_line(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline + 1 : end;
}

static struct found by_ours(const char *pattern, struct text t)
{
	struct found ret = { 0 };
	struct prepared prepared;
	struct pattern *parsed;
	struct line line;
	struct err e;

	if (pattern_new(&parsed, pattern, false, &e) < 0 ||
	    prepared_init(&prepared, parsed, &e) < 0)
		exit(1);
	struct nfa_match *m = nfa_match_new(&prepared);
	for (; t.start < t.end && nfa_match_find(m, t.start, t.end, &line); ret.lines++)
		t.start = next_line(line.end, t.end);
	nfa_match_free(m);
	prepared_done(&prepared);
	pattern_free(parsed);
	return ret;
}

static struct found by_pcre2(const char *pattern, struct text t, bool compiles)
{
	struct found ret = { 0 };
	PCRE2_SIZE where;
	int error;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
					 PCRE2_MULTILINE, &error, &where, NULL);

	if (!code || (compiles && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) < 0))
		exit(1);
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
	const uint8_t *at = t.start;
	while (at < t.end) {
		int rc = pcre2_match(code, t.start, (size_t)(t.end - t.start),
				     (size_t)(at - t.start), 0, data, NULL);
		if (rc == PCRE2_ERROR_NOMATCH)
			break;
		ret.lines += rc >= 0;
		ret.refused += rc < 0;
		at = next_line(
			rc < 0 ? at : t.start + pcre2_get_ovector_pointer(data)[1], t.end);
	}
	pcre2_match_data_free(data);
	pcre2_code_free(code);
	return ret;
}

static void report(const char *name, struct found f, struct text t, double took)
{
	printf("  %s %.0f MB/s, %ld lines, gave up at %ld;", name,
	       (double)(t.end - t.start) / 1e6 / took, f.lines, f.refused);
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 1;
	const uint8_t *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ,
				    MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED)
		return 1;
	const struct text text = { bytes, bytes + st.st_size };
	for (int i = 2; i < argc; i++) {
		printf("%s\n", argv[i]);
		double begun = seconds();
		struct found f = by_ours(argv[i], text);
		report("ours", f, text, seconds() - begun);
		for (int compiles = 1; compiles >= 0; compiles--) {
			begun = seconds();
			f = by_pcre2(argv[i], text, compiles);
			report(compiles ? "PCRE2, compiled" : "PCRE2", f, text,
			       seconds() - begun);
		}
		printf("\n");
	}
	return 0;
}
