/* hutch cp: copies files from this host into a sandbox, out of one, or between
 * two.
 *
 * A tar goes through two pipes with a belt (belt.h) between them.  A child
 * process writes it, and another one reads it: each is a copy request to a
 * sandbox, or a copy worker on this host.  The parent moves the tar, waits for both
 * children and for signals, and renames the copied files to their place.  A
 * sandbox that keeps the copy waiting has a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "base/wait_line.h"
#include "base/worker.h"
#include "cli/belt.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "cli/copy_dest.h"
#include "cli/copy_request.h"
#include "cli/copy_worker.h"
#include "cli/remote_notes.h"
#include "cli/verbs.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/state/registry.h"

#define SIZE_DEFAULT (64ull << 30)
#define ENTRIES_MAX  4000000
#define IDLE_DEFAULT 60000 /* the default of --idle-timeout in ms: how long a sandbox
			    * may keep the copy waiting */

/* --- the words --------------------------------------------------------------- */

enum end_kind { END_HOST, END_BOX, END_STREAM };

/* An operand of `hutch cp`: PATH, NAME:PATH or -. */
struct end {
	enum end_kind kind;
	char *box;  /* owned: the sandbox's name */
	char *path; /* owned: the path on this host, or in the sandbox */
	char *name; /* owned: the name of the file in the copy; NULL: the content of a
		     * folder, which has no name */
	bool is_folder; /* the operand ends with a slash */
};

struct wish {
	bool follows;
	uint64_t size_max;
	int64_t idle_ms; /* how long a sandbox may keep the copy waiting; 0: no limit */
	struct end *from; /* owned: the operands that are copied */
	size_t from_count;
	struct end to;
};

static void end_done(struct end *x)
{
	free(x->box);
	free(x->path);
	free(x->name);
}

/* Returns the length of the sandbox's name in an operand, or 0 if the operand has
 * none.  As in docker, a host path with a colon is written ./a:b. */
static size_t box_len(const char *word)
{
	const size_t len = strcspn(word, ":/");

	return word[len] == ':' && word[0] != '.' ? len : 0;
}

/* Sets the name to the path's last part, unless that is "." or "..". */
static void set_name(struct end *x)
{
	AUTO_FREE char *path = text_copy(x->path);
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0', x->is_folder = true;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (*name && strcmp(name, ".") && strcmp(name, ".."))
		x->name = text_copy(name);
}

static int end_init(struct end *x, const char *word, struct err *e)
{
	const size_t len = box_len(word);

	*x = (struct end){ .kind = len		       ? END_BOX
				   : strcmp(word, "-") ? END_HOST
						       : END_STREAM };
	if (len) {
		x->box = text_format("%.*s", (int)len, word);
		word += len + 1;
	}
	x->path = text_copy(word);
	if (x->kind == END_STREAM)
		return 0;
	if (!*x->path) {
		(void)err_set(e, ERR_USAGE, "no path behind '%.80s%s'",
			      x->box ? x->box : "", x->box ? ":" : "");
		return err_remedy(e, "NAME:. is the folder that commands in it start in");
	}
	set_name(x);
	return x->box ? registry_check_name(x->box, e) : 0;
}

/* --- one copy ------------------------------------------------------------------- */

enum { WRITER, READER, SIDES };

struct copy {
	const struct wish *wish;
	const struct end *ends[SIDES]; /* the copy's source and destination */
	char *paths[SIDES];	       /* owned: the paths that sandboxes are asked for */
	struct copy_dest dest;
	struct copy_request requests[SIDES];
	union {
		struct copy_worker_pack pack;
		struct copy_worker_unpack unpack;
		struct copy_worker_pump pump;
	} args[SIDES];
	struct belt belt;
	struct worker workers[SIDES];
	struct outcome outcomes[SIDES];
	struct remote_notes notes[SIDES];
	struct wait_line line;
	bool is_late; /* the side with index `late` has exceeded its time limit */
	int late;
};

/* A missing source on this host is reported before any sandbox is asked. */
static int check_source(const struct copy *c, struct err *e)
{
	const struct end *from = c->ends[WRITER];
	bool follows = c->wish->follows || from->is_folder || !from->name;
	struct stat st;

	if (from->kind != END_HOST)
		return 0;
	if (fstatat(AT_FDCWD, from->path, &st, follows ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "copy %.300s", from->path);
	return 0;
}

static int open_dest(struct copy *c, struct err *e)
{
	const struct end *from = c->ends[WRITER], *to = c->ends[READER];

	return to->kind == END_HOST ? copy_dest_open(&c->dest, to->path, from->name,
						   c->wish->from_count > 1, e)
				    : 0;
}

/* Sets the paths for the sandboxes' requests. */
static void choose_paths(struct copy *c)
{
	const struct end *from = c->ends[WRITER], *to = c->ends[READER];
	bool is_content = from->name && c->dest.wants_content;
	bool is_below = from->name && c->wish->from_count > 1;

	c->paths[WRITER] = text_format("%s%s", from->path, is_content ? "/." : "");
	c->paths[READER] = text_format("%s%s", to->path, is_below ? "/" : "");
}

static void set_request(struct copy *c, int side, int tar, int sentences,
			struct worker_task *w)
{
	c->requests[side] = (struct copy_request){
		.sandbox = c->ends[side]->box, .path = c->paths[side],
		.name = side == READER ? c->ends[WRITER]->name : NULL,
		.packs = side == WRITER, .follows = c->wish->follows,
		.tar = tar, .sentences = sentences,
	};
	w->work = copy_request_do;
	w->arg = &c->requests[side];
	w->fds[w->fd_count++] = sentences;
}

static void set_pump(struct copy *c, int side, int tar, struct worker_task *w)
{
	c->args[side].pump = (struct copy_worker_pump){ .in = side == WRITER ? 0 : tar,
						      .out = side == WRITER ? tar : 1 };
	c->args[side].pump.what = side == WRITER ? "from stdin" : "to stdout";
	w->work = copy_worker_pump;
	w->arg = &c->args[side].pump;
}

static void set_pack(struct copy *c, int tar, struct worker_task *w)
{
	const struct end *from = c->ends[WRITER];

	c->args[WRITER].pack = (struct copy_worker_pack){
		.path = from->path, .as = from->name ? from->name : ".",
		.follows = c->wish->follows || from->is_folder, .out = tar,
	};
	w->work = copy_worker_pack;
	w->arg = &c->args[WRITER].pack;
}

static void set_unpack(struct copy *c, int tar, struct worker_task *w)
{
	c->args[READER].unpack = (struct copy_worker_unpack){
		.in = tar, .folder = c->dest.folder, .uid = c->dest.uid,
		.gid = c->dest.gid, .rename = c->dest.rename,
		.bytes_max = c->wish->size_max, .entries_max = ENTRIES_MAX,
	};
	w->work = copy_worker_unpack;
	w->arg = &c->args[READER].unpack;
	w->leash = &c->args[READER].unpack.leash;
	w->fds[w->fd_count++] = c->dest.folder;
}

/* Starts the process for one side.  On return the caller closes its own copies of
 * the descriptors that the child got. */
static int start_side(struct copy *c, int side, int tar, struct err *e)
{
	struct worker_task w = { .name = "a process of the copy",
				 .result_len = sizeof(struct outcome),
				 .fds = { tar }, .fd_count = 1 };
	AUTO_CLOSE int sentences = -1;

	switch (c->ends[side]->kind) {
	case END_BOX:
		sentences = remote_notes_open(&c->notes[side], c->ends[side]->box, e);
		if (sentences < 0)
			return -1;
		set_request(c, side, tar, sentences, &w);
		break;
	case END_STREAM:
		set_pump(c, side, tar, &w);
		break;
	case END_HOST:
		if (side == WRITER)
			set_pack(c, tar, &w);
		else
			set_unpack(c, tar, &w);
		break;
	}
	return worker_start(&w, &c->workers[side], e);
}

static int start(struct copy *c, int64_t now, struct err *e)
{
	int from[2], to[2];

	if (check_source(c, e) < 0 || open_dest(c, e) < 0)
		return -1;
	choose_paths(c);
	if (pipe2(from, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int in = from[0];
	AUTO_CLOSE int writers = from[1];
	if (pipe2(to, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int readers = to[0];
	AUTO_CLOSE int out = to[1];
	if (start_side(c, WRITER, writers, e) < 0 ||
	    start_side(c, READER, readers, e) < 0)
		return -1;
	belt_begin(&c->belt, fd_take(&in), fd_take(&out), now);
	return 0;
}

/* --- waiting ---------------------------------------------------------------------- */

static int fatal_signal(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
		    info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT)
			return (int)info.ssi_signo;
	return 0;
}

/* Returns the side that the other side waits for: the writer of an empty pipe, or the
 * reader of a full one. */
static int awaited(const struct copy *c)
{
	if (!belt_has_ended(&c->belt))
		return c->belt.is_full ? READER : WRITER;
	return c->workers[WRITER].pid ? WRITER : READER;
}

/* Returns the time at which the awaited sandbox exceeds its time limit; 0: never,
 * since a process on the host has no time limit. */
static int64_t due(const struct copy *c)
{
	const int side = awaited(c);
	bool has_ended = belt_has_ended(&c->belt) && !c->workers[side].pid;
	bool is_box = c->ends[side]->kind == END_BOX && !has_ended;

	/* layer: cp-timeout */
	return is_box && c->wish->idle_ms ? c->belt.moved_ms + c->wish->idle_ms : 0;
}

/* Records that a sandbox has exceeded its time limit.  If the sandbox is paused then,
 * its time begins again instead. */
static void look_at_time(struct copy *c, int64_t now)
{
	if (!clock_is_due(due(c), now))
		return;
	c->late = awaited(c);
	c->is_late = !copy_request_sees_pause(c->ends[c->late]->box);
	c->belt.moved_ms = now;
}

enum { SIGNALS, RESULTS, NOTES = RESULTS + SIDES, TAR = NOTES + SIDES,
       WATCHED = TAR + BELT_FDS };

static void watch(const struct copy *c, int signals, struct pollfd w[WATCHED])
{
	w[SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	for (int i = 0; i < SIDES; i++) {
		w[RESULTS + i] = (struct pollfd){ c->workers[i].answer, POLLIN, 0 };
		w[NOTES + i] = (struct pollfd){ c->notes[i].fd, POLLIN, 0 };
	}
	belt_watch(&c->belt, w + TAR);
}

static void serve(struct copy *c, const struct pollfd w[WATCHED], int64_t now)
{
	belt_serve(&c->belt, w + TAR, now);
	for (int i = 0; i < SIDES; i++) {
		if (w[NOTES + i].revents) {
			wait_line_hide(&c->line);
			remote_notes_listen(&c->notes[i]);
		}
		if (w[RESULTS + i].revents)
			outcome_wait(&c->workers[i], &c->outcomes[i]);
	}
}

static void show(struct copy *c, int64_t now)
{
	if (!clock_is_due(wait_line_due(&c->line), now))
		return;
	AUTO_FREE char *bytes = table_bytes(c->belt.moved);
	AUTO_FREE char *text =
		text_format("copying %s: %s", c->ends[WRITER]->path, bytes);
	wait_line_draw(&c->line, text, now);
}

/* Runs the loop's body once.  Returns 0, or the signal that ends the copy. */
static int turn(struct copy *c, int signals)
{
	struct pollfd w[WATCHED];

	watch(c, signals, w);
	const int64_t until = clock_sooner(due(c), wait_line_due(&c->line));
	if (poll(w, WATCHED, clock_wait(until, clock_ms())) < 0)
		return 0; /* poll(2) failed with EINTR: this process was stopped, and
			   * SIGCONT has come */
	const int64_t now = clock_ms();
	serve(c, w, now);
	look_at_time(c, now);
	show(c, now);
	return w[SIGNALS].revents ? fatal_signal(signals) : 0;
}

/* Waits until both sides have ended, or one side has exceeded its time limit.
 * Returns 0, or the signal that ends the copy. */
static int wait_for_both(struct copy *c, int signals)
{
	int signo = 0;

	while (signo == 0 && !c->is_late &&
	       (c->workers[WRITER].pid || c->workers[READER].pid))
		signo = turn(c, signals);
	wait_line_end(&c->line);
	return signo;
}

/* --- the end ----------------------------------------------------------------------- */

static const struct outcome *failure_of(const struct copy *c, int side)
{
	const struct outcome *o = &c->outcomes[side];

	return o->error.kind == ERR_NONE ? NULL : o;
}

/* Returns the side whose error is reported.  If one side fails, the other side
 * usually fails because of that failure.  The writer's error is the cause, unless
 * the writer found the pipe closed: then the reader's error is the cause, if the
 * reader failed. */
static int cause_of(const struct copy *c)
{
	const struct outcome *writer = failure_of(c, WRITER);

	if (writer && !writer->is_closed)
		return WRITER;
	return failure_of(c, READER) ? READER : -1;
}

static void tell_failure(struct copy *c, int side)
{
	struct err e = c->outcomes[side].error;
	AUTO_FREE char *last = remote_notes_last(&c->notes[side]);

	if (c->outcomes[side].is_inside && last)
		(void)err_set(&e, (enum err_kind)e.kind, "sandbox '%s': %.600s",
			      c->ends[side]->box, last);
	if (side == READER && c->ends[side]->kind == END_HOST)
		(void)err_in(&e, "unpack into %.200s", c->ends[side]->path);
	report_error(&e);
}

static void tell_late(const struct copy *c)
{
	const struct end *box = c->ends[c->late];
	struct err e;

	(void)err_set(&e, ERR_SYSTEM,
		      "sandbox '%s' %s the copy of %.300s for %.3g seconds", box->box,
		      c->late == WRITER ? "has sent nothing of" : "has taken nothing of",
		      c->ends[WRITER]->path, (double)c->wish->idle_ms / 1000);
	(void)err_remedy(&e, "--idle-timeout DURATION waits longer, and with 0 for ever");
	report_error(&e);
}

static void tell_note(uint64_t count, const char *one, const char *many,
		      const char *first)
{
	AUTO_FREE char *shown = term_escape_line(first);

	if (count)
		note_print("note: %llu %s: %s%s", (unsigned long long)count,
			   count == 1 ? one : many, shown, count == 1 ? "" : ", ...");
}

/* Prints notes about files that were not copied.  The jail's counts and names are
 * not trusted, since it read foreign bytes. */
static void tell_notes(const struct copy *c)
{
	const struct outcome *in = &c->outcomes[WRITER];
	const struct outcome *out = &c->outcomes[READER];

	if (c->ends[WRITER]->kind == END_HOST)
		tell_note(in->left_out, "is left out or not whole",
			  "are left out or not whole", in->first);
	if (c->ends[READER]->kind == END_HOST)
		tell_note(out->links_out, "link leads out of the copied files",
			  "links lead out of the copied files", out->first);
}

static void tell_sum(const struct copy *c)
{
	const int side = c->ends[WRITER]->kind == END_HOST ? WRITER : READER;
	const struct outcome *o = &c->outcomes[side];

	if (isatty(2) && c->ends[side]->kind == END_HOST)
		note_print("copied %llu files and folders, %llu bytes",
			   (unsigned long long)o->entries, (unsigned long long)o->bytes);
}

static int finish(struct copy *c)
{
	int cause = cause_of(c);
	struct err e;

	for (int i = 0; i < SIDES; i++)
		remote_notes_end(&c->notes[i], failure_of(c, i) != NULL);
	if (c->is_late) {
		tell_late(c);
		return EXIT_HUTCH;
	}
	if (cause >= 0) {
		tell_failure(c, cause);
		return EXIT_HUTCH;
	}
	if (c->ends[READER]->kind == END_HOST && copy_dest_settle(&c->dest, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	tell_notes(c);
	tell_sum(c);
	return 0;
}

static void copy_init(struct copy *c, const struct wish *w, const struct end *from)
{
	*c = (struct copy){ .wish = w, .ends = { from, &w->to } };
	copy_dest_init(&c->dest);
	belt_init(&c->belt);
	for (int i = 0; i < SIDES; i++)
		remote_notes_init(&c->notes[i]);
}

/* Releases the copy.  The workers are ended first, so that no process can write to
 * the destination when it is removed. */
static void copy_done(struct copy *c)
{
	belt_done(&c->belt);
	for (int i = 0; i < SIDES; i++) {
		worker_end(&c->workers[i]);
		remote_notes_done(&c->notes[i]);
		free(c->paths[i]);
	}
	copy_dest_done(&c->dest);
}

/* Copies one operand.  Returns the exit code; a code of 128 and more tells the
 * signal that ended the copy. */
static int copy_one(const struct wish *w, const struct end *from, int signals)
{
	const int64_t now = clock_ms();
	struct copy c;
	struct err e;
	int code = EXIT_HUTCH;

	copy_init(&c, w, from);
	wait_line_begin(&c.line, now);
	if (start(&c, now, &e) < 0) {
		report_error(&e);
	} else {
		int signo = wait_for_both(&c, signals);
		code = signo ? 128 + signo : finish(&c);
	}
	copy_done(&c);
	return code;
}

/* --- the verb ---------------------------------------------------------------------- */

static int refuse(struct err *e, const char *why, const char *remedy)
{
	(void)err_set(e, ERR_USAGE, "%s", why);
	return err_remedy(e, "%s", remedy);
}

static int check_pair(const struct wish *w, const struct end *from, struct err *e)
{
	const struct end *to = &w->to;

	if (from->kind == END_HOST && to->kind != END_BOX)
		return refuse(e, "neither path is in a sandbox",
			      "a path inside is written NAME:PATH");
	if ((from->kind == END_STREAM || to->kind == END_STREAM) && w->from_count > 1)
		return refuse(e, "a tar on stdin or stdout is one copy, not several",
			      "name one source");
	if (from->kind == END_STREAM && to->kind == END_STREAM)
		return refuse(e, "from stdin to stdout there is nothing to be done here",
			      "hutch cp - NAME:FOLDER, or hutch cp NAME:PATH -");
	if (to->kind == END_STREAM && isatty(1))
		return refuse(e, "a tar is nothing for a terminal",
			      "hutch cp NAME:PATH - >FILE");
	return 0;
}

/* Copies each operand.  After a failed copy the others are still made; after a
 * signal they are not. */
static int copy_each(const struct wish *w, int signals)
{
	int code = 0;

	for (size_t i = 0; i < w->from_count && code <= EXIT_HUTCH; i++) {
		int got = copy_one(w, &w->from[i], signals);
		code = got ? got : code;
	}
	return code;
}

static int read_size(const char *text, uint64_t *ret, struct err *e)
{
	*ret = SIZE_DEFAULT;
	if (text && units_parse_bytes(text, ret, e) < 0)
		return err_in(e, "--max-size");
	return *ret ? 0 : err_set(e, ERR_USAGE, "--max-size takes at least one byte");
}

static int read_words(struct wish *w, char **words, struct err *e)
{
	while (words[w->from_count + 1])
		w->from_count++;
	w->from = mem_zeroed(w->from_count, sizeof(*w->from));
	if (end_init(&w->to, words[w->from_count], e) < 0)
		return -1;
	for (size_t i = 0; i < w->from_count; i++)
		if (end_init(&w->from[i], words[i], e) < 0 ||
		    check_pair(w, &w->from[i], e) < 0)
			return -1;
	return 0;
}

static int read_idle(const char *text, int64_t *ret, struct err *e)
{
	uint64_t ms = IDLE_DEFAULT;

	if (text && !strcmp(text, "0"))
		ms = 0;
	else if (text && units_parse_duration(text, &ms, e) < 0)
		return err_in(e, "--idle-timeout");
	*ret = (int64_t)ms;
	return 0;
}

static int copy_all(struct wish *w, char **words, const char *size, const char *idle)
{
	struct err e;
	int signals = -1, code = EXIT_HUTCH;

	(void)signal(SIGPIPE, SIG_IGN); /* with SIGPIPE ignored, a write to a closed pipe
					 * fails with EPIPE and does not kill hutch */
	if (read_size(size, &w->size_max, &e) == 0 &&
	    read_idle(idle, &w->idle_ms, &e) == 0 && read_words(w, words, &e) == 0)
		signals = supervise_signals(&e);
	if (signals >= 0)
		code = copy_each(w, signals);
	else
		report_error(&e);
	own_close(&signals);
	for (size_t i = 0; w->from && i < w->from_count; i++)
		end_done(&w->from[i]);
	free(w->from);
	end_done(&w->to);
	return code;
}

int cp_main(char **argv)
{
	struct wish wish = { 0 };
	const char *size = NULL, *idle = NULL;
	const struct flag flags[] = {
		{ 'L', "follow-link", NULL, "if SRC is a link, copy what it leads to",
		  &wish.follows, NULL },
		FLAG_QUIET,
		{ 0, "max-size", "BYTES", "most that may come out (default 64g)", NULL,
		  &size },
		{ 0, "idle-timeout", "DURATION", "how long a copy may wait (default 60s)",
		  NULL, &idle },
	};
	const struct usage usage = {
		.synopsis = "hutch cp [OPTIONS] SRC... DST",
		.about = "Copies files and folders into a sandbox, out of it, or from "
			 "one to another.\nSRC, DST: PATH on this host, NAME:PATH in a "
			 "sandbox, or - (a tar, on stdin\nor stdout).  FOLDER/. is the "
			 "content of a folder.  man hutch-cp tells more.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 2, .operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);

	return got == FLAGS_READ ? copy_all(&wish, argv, size, idle)
				 : got == FLAGS_HELP ? 0 : EXIT_HUTCH;
}
