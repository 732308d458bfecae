#include "executor/fileops/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "executor/fileops/ripgrep.h"
#include "executor/files/files_parts.h"
#include "executor/search/glob.h"
#include "executor/search/grep.h"
#include "executor/search/grep_tree.h"
#include "executor/search/nfa_match.h"
#include "executor/search/pattern.h"
#include "executor/session/shell_quote.h"

/* How long lines are still read after SIGALRM; must be less than LAST_WORDS_MS in
 * errands.c, when the process is killed. */
#define LATE_MS 200

struct search {
	struct errand *x;
	struct prepared prepared; /* owned */
	char *rust;		  /* owned; the pattern for ripgrep; NULL: ripgrep cannot
				   * express it */
	struct glob *include;	  /* owned; the glob of the files to search; NULL: all
				   * files */
	bool has_path;		  /* `include` has a slash, so it is matched with the
				   * path, not with the name alone */
	struct grep_paths found;  /* owned; the files with a match */
	struct buffer lines;	  /* the lines of one file, each with a 0 behind it */
	const char *shown;	  /* the file's name, to put before its lines */
	uint32_t reported, wanted; /* how many lines were reported, and how many are
				   * wanted */
	bool has_more;		  /* there are matching lines that are not reported */
	int64_t due;		  /* the time after which no lines are read; 0: SIGALRM
				   * has not come yet */
};

/* --- the request ------------------------------------------------------------ */

static int read_pattern(struct search *s)
{
	const struct errand_request *ask = s->x->ask;
	struct pattern *p = NULL;
	struct err e = { 0 };

	int rc = pattern_new(&p, ask->other, ask->flags & ERRAND_IGNORE_CASE, &e);
	if (rc == 0)
		rc = prepared_init(&s->prepared, p, &e);
	if (rc == 0)
		s->rust = pattern_in_rust(p);
	pattern_free(p);
	if (rc == 0)
		return 0;
	AUTO_FREE char *why = text_format("%s.", e.text);
	return errand_refuse(s->x, why);
}

/* Reads the request's glob. A glob without a slash is matched with the file's name
 * alone. */
static int read_include(struct search *s)
{
	const char *include = s->x->ask->include, *why = NULL;
	size_t len = strlen(include);

	if (!len)
		return 0;
	s->has_path = strchr(include, '/');
	if (include[len - 1] == '/')
		why = "With a slash at its end it is of folders, and only files are searched.";
	else
		s->include = glob_new(include, &why);
	if (s->include)
		return 0;
	AUTO_FREE char *text = text_format("include: %s", why);
	return errand_refuse(s->x, text);
}

static bool wants(void *context, const char *path)
{
	const struct search *s = context;
	const char *slash = strrchr(path, '/');

	if (!s->include)
		return true;
	return glob_matches(s->include, s->has_path || !slash ? path : slash + 1);
}

/* --- the lines of a file ---------------------------------------------------- */

/* Returns whether no more lines are to be read. The first call after SIGALRM sets `due`.
 * Only calls after SIGALRM read the clock. */
static bool is_past(void *context)
{
	struct search *s = context;

	if (!errand_is_late())
		return false;
	const int64_t now = clock_ms();
	if (s->due == 0)
		s->due = now + LATE_MS;
	return clock_is_due(s->due, now);
}

static bool on_line(void *context, const struct grep_line *line)
{
	struct search *s = context;
	char left[64] = "", number[32];

	if (s->reported == s->wanted) {
		s->has_more = true;
		return false;
	}
	s->reported++;
	if (line->left > 0)
		snprintf(left, sizeof(left), "[... %llu more bytes]",
			 (unsigned long long)line->left);
	snprintf(number, sizeof(number), ":%llu:", (unsigned long long)line->number);
	return buffer_append(&s->lines, s->shown, strlen(s->shown)) &&
	       buffer_append(&s->lines, number, strlen(number)) &&
	       buffer_append(&s->lines, line->text, line->len) &&
	       buffer_append(&s->lines, left, strlen(left) + 1);
}

/* Adds the lines to the answer's text, and counts in s->reported those that fit;
 * `reported` lines were reported before. False: not all fit. */
static bool put_lines(struct search *s, uint32_t reported)
{
	const char *at = (const char *)buffer_data(&s->lines);
	const char *end = at + buffer_len(&s->lines);

	for (s->reported = reported; at < end; at += strlen(at) + 1, s->reported++) {
		if (!errand_line(s->x, at, strlen(at))) {
			s->has_more = true;
			return false;
		}
	}
	return true;
}

/* Reports the matching lines of one file. False: no further file is to be searched. */
static bool tell_file(struct search *s, struct grep *g, int fd, const char *path)
{
	AUTO_FREE char *shown = shell_quote_shown(path);
	uint32_t reported = s->reported;
	bool had_more = s->has_more;

	s->shown = shown;
	buffer_consume(&s->lines, SIZE_MAX);
	enum grep_end end = grep_file(g, fd);
	if (end == GREP_FOUND || end == GREP_ENDED)
		return put_lines(s, reported) && !s->has_more;
	s->reported = reported; /* the file is no text, so its lines do not count */
	s->has_more = had_more;
	return true;
}

static struct grep reader(struct search *s)
{
	return (struct grep){ .matcher = nfa_match_new(&s->prepared),
			      .on_line = on_line,
			      .is_late = is_past,
			      .context = s };
}

static void reader_done(struct grep *g)
{
	nfa_match_free(g->matcher);
	grep_done(g);
}

static void tell_files(struct search *s, int root)
{
	struct grep g = reader(s);
	bool is_more = true;

	grep_paths_sort(&s->found);
	for (size_t i = 0; i < s->found.count && is_more; i++) {
		const char *path = s->found.sorted[i];
		AUTO_FREE char *whole = text_format("%s%s", s->x->shown, path);
		AUTO_CLOSE int fd = wants(s, path) ? grep_open(root, path) : -1;
		if (is_past(s))
			break;
		if (fd >= 0 && !grep_is_of_kernel(fd))
			is_more = tell_file(s, &g, fd, whole);
	}
	s->found.is_cut = s->found.is_cut || s->due != 0;
	reader_done(&g);
}

static void put_notes(struct search *s)
{
	if (s->has_more)
		errand_note(s->x, "[There are more lines; these are the first %u.]",
			    s->reported);
	if (s->found.closed > 0)
		errand_note(s->x, "[Some files or folders could not be read.]");
	if (s->found.is_cut)
		errand_note(s->x, "[The search took too long or found too much, and was "
				  "ended: there may be more.]");
	s->x->end.cut += s->has_more && s->x->end.cut == 0;
}

/* --- where ------------------------------------------------------------------ */

static bool is_late(void *context)
{
	(void)context;
	return errand_is_late();
}

/* Returns whether the folder is "/". Below it are /proc and /sys, where ripgrep's reads
 * could take for ever. */
static bool is_root(int folder)
{
	struct stat a, b;

	return fstat(folder, &a) < 0 || stat("/", &b) < 0 ||
	       (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* Makes a descriptor that becomes readable when the errand is asked to end. errand.c has
 * blocked SIGALRM, so the signal stays pending, and signalfd(2) shows it. */
static int open_late(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM); /* the arguments are valid, so this cannot fail */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Searches with the rootfs' own ripgrep. -1: it cannot be used for this search, or
 * failed. */
static int ask_ripgrep(struct search *s, int folder)
{
	const char *include = s->x->ask->include;
	const struct exec *as = s->x->as;

	if (!as || !s->rust || is_root(folder) || grep_is_of_kernel(folder))
		return -1;
	AUTO_CLOSE int late = open_late();
	bool is_known = *include && !s->has_path && ripgrep_knows_glob(include);
	const struct ripgrep r = { .as = as, .pattern = s->rust, .late = late,
				   .include = is_known ? include : NULL };
	if (late >= 0 && ripgrep_tree(folder, &r, &s->found) == 0)
		return 0;
	grep_paths_done(&s->found);
	return -1;
}

static void search_folder(struct search *s, int folder)
{
	const struct grep_wanted w = {
		.prepared = &s->prepared, .wants = wants, .is_late = is_late, .context = s
	};

	if (ask_ripgrep(s, folder) < 0)
		grep_tree(folder, &w, &s->found);
	tell_files(s, folder);
	put_notes(s);
}

/* Searches the one file that the request names; `include` does not apply. A file that is
 * no text is an error. */
static void search_file(struct search *s, int fd)
{
	struct grep g = reader(s);
	AUTO_FREE char *shown = shell_quote_shown(s->x->ask->path);

	s->shown = shown;
	enum grep_end end = grep_file(&g, fd);
	int sys = errno;
	reader_done(&g);
	if (end == GREP_NO_TEXT) {
		AUTO_FREE char *why =
			text_format("%s is not a text file: it has a NUL byte, or a line"
				    " of more than 64 MiB.",
				    shown);
		(void)errand_refuse(s->x, why);
		return;
	}
	if (end == GREP_FAILED) {
		(void)errand_fail(s->x, NULL, sys);
		return;
	}
	s->found.is_cut = s->due != 0;
	(void)put_lines(s, 0);
	put_notes(s);
}

/* Searches the folder or file that the request names. A file may be named by a link, and
 * is opened without blocking. */
static void search_place(struct search *s)
{
	struct errand *x = s->x;
	struct stat st;
	AUTO_CLOSE int at = open(x->path, O_PATH | O_CLOEXEC);

	if (at < 0 || fstat(at, &st) < 0) {
		(void)errand_fail(x, NULL, errno);
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		AUTO_CLOSE int folder = errand_open_folder(x);
		if (folder >= 0)
			search_folder(s, folder);
		return;
	}
	AUTO_CLOSE int fd = -1;
	struct result r = files_open(x->path, O_RDONLY, &fd, &st);
	if (r.outcome == OUTCOME_DONE) {
		search_file(s, fd);
		return;
	}
	x->end.outcome = (uint32_t)r.outcome;
	x->end.sys = (uint32_t)r.sys;
}

void errand_grep(struct errand *x)
{
	struct search s = { .x = x, .wanted = x->ask->limit };

	buffer_init(&s.lines, 2 * ERRAND_TEXT_MAX);
	if (read_pattern(&s) == 0 && read_include(&s) == 0)
		search_place(&s);
	prepared_done(&s.prepared);
	free(s.rust);
	glob_free(s.include);
	grep_paths_done(&s.found);
	buffer_done(&s.lines);
}
