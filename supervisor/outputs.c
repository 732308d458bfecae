#include "supervisor/outputs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/launch/launch.h"
#include "sandbox/state/state_dir.h"
#include "supervisor/main_process.h"
#include "supervisor/supervisor.h"

/* The most bytes that are read from one pipe at once, which is the capacity of a pipe,
 * and from all pipes in one turn of the loop.  The second bound keeps much output from
 * delaying clients. */
#define READ_AT_ONCE (64u << 10)
#define READ_IN_TURN (512u << 10)

/* How long in ms the last bytes of the output are held back if they may be the start of
 * a secret.  A prompt that only looks like one is shown after that time. */
#define SHOWN_MS 200

/* FDS_WANTED: the number of descriptors that are used if the host permits so many.  The
 * soft limit itself is raised to the hard limit, since fd_pass_send() cannot raise it
 * in a confined supervisor.  FDS_OTHERS: those not for processes: of the sandbox, of
 * clients, and descriptors that clients pass. */
#define FDS_WANTED 8192
#define FDS_OTHERS (64 + CLIENTS_MAX * (1 + CONNECTION_FDS))
/* Starting a process takes both ends of three pipes. */
#define FDS_START 6

/* --- its beginning and end -------------------------------------------------- */

static size_t raise_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	const struct rlimit higher = { limit.rlim_max, limit.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &higher) == 0 && limit.rlim_cur < FDS_WANTED)
		limit.rlim_cur = limit.rlim_max < FDS_WANTED ? limit.rlim_max
							     : FDS_WANTED;
	return limit.rlim_cur > 2 * FDS_OTHERS ? (size_t)limit.rlim_cur - FDS_OTHERS
					       : (size_t)limit.rlim_cur / 2;
}

void outputs_init(struct supervisor *s)
{
	struct outputs *o = &s->outputs;
	struct err e; /* not used: if there is no folder, the first write to the log
		       * reports it */

	o->fds_max = raise_fds();
	log_init(&o->log, state_dir_folder(s->entry->folder, STATE_DIR_LOG, &e), "output",
		 LOG_FILE_MAX);
	/* The caller's limit on file sizes applies to the log too.  A write beyond it
	 * must fail with an error and not kill the supervisor. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

void outputs_done(struct supervisor *s)
{
	log_done(&s->outputs.log);
	free(s->outputs.places);
	s->outputs.places = NULL;
}

/* --- descriptors -------------------------------------------------------------- */

/* Counts the descriptors that all jobs have. */
static size_t count_fds(const struct supervisor *s)
{
	size_t count = 0;

	for (const struct job *j = s->jobs.busy; j; j = j->next_busy)
		count += j->fds.count + (j->capture ? capture_fds(j->capture) : 0);
	return count;
}

size_t outputs_left(const struct supervisor *s)
{
	const size_t count = count_fds(s);

	return count < s->outputs.fds_max ? s->outputs.fds_max - count : 0;
}

static void close_pipes(struct supervisor *s, struct job *j);

/* Closes the pipes of the oldest job that has ended and still has some: a child that it
 * left behind may write on until these descriptors are needed. */
static size_t close_oldest(struct supervisor *s)
{
	for (struct job *j = s->jobs.busy; j; j = j->next_busy) {
		bool is_ours = j->state == JOB_ENDED && j->capture;
		size_t count = is_ours ? capture_fds(j->capture) : 0;
		if (count == 0)
			continue;
		close_pipes(s, j);
		return count;
	}
	return 0;
}

int outputs_reserve(struct supervisor *s, struct err *e)
{
	size_t count = count_fds(s) + ports_visit_fds(&s->launch->ports), closed = 1;

	while (count + FDS_START > s->outputs.fds_max && closed > 0) {
		closed = close_oldest(s);
		count -= closed;
	}
	if (count + FDS_START <= s->outputs.fds_max)
		return 0;
	(void)err_set(e, ERR_LIMIT,
		      "the processes that run, and connections to ports, have %zu "
		      "of the supervisor's descriptors, and %zu are for them",
		      count, s->outputs.fds_max);
	return err_remedy(e, "a higher limit on open files (ulimit -n) for hutch create");
}

/* --- what is printed ---------------------------------------------------------- */

static void drop_oldest(struct supervisor *s, const struct job *but, size_t *total)
{
	for (struct job *j = s->jobs.first; j && *total > OUTPUTS_KEPT; j = j->next)
		for (int i = 0; i < CAPTURE_STREAMS; i++) {
			if (j->state != JOB_ENDED || !j->capture || j == but)
				continue;
			*total -= j->capture->ring[i].room;
			output_ring_drop(&j->capture->ring[i]);
		}
}

/* Returns how many of the `more` bytes of memory a stream gets. */
static size_t grant(struct supervisor *s, const struct job *but,
		    const struct output_ring *k, size_t more)
{
	size_t total = more;

	for (const struct job *j = s->jobs.first; j; j = j->next)
		for (int i = 0; i < CAPTURE_STREAMS; i++)
			total += j->capture ? j->capture->ring[i].room : 0;
	drop_oldest(s, but, &total);
	if (total <= OUTPUTS_KEPT || k->room + more <= OUTPUTS_LEAST)
		return more;
	return k->room < OUTPUTS_LEAST ? OUTPUTS_LEAST - k->room : 0;
}

void outputs_put_piece(struct buffer *out, const struct job *j, int stream,
		       const struct piece *p)
{
	json_write_number(out, "process", j->id);
	json_write_text(out, "stream", capture_stream_name(stream));
	if (p->is_text)
		return json_write_bytes(out, "data", p->bytes, p->len);
	uint8_t text[(CAPTURE_PIECE / 3 + 1) * 4];
	json_write_bytes(out, "base64", text, base64_encode(p->bytes, p->len, text));
}

static void log_line(struct supervisor *s, const struct buffer *line)
{
	struct log *l = &s->outputs.log;
	struct err e;
	enum log_outcome outcome =
		log_add(l, buffer_data(line), buffer_len(line), s->now_ms, &e);

	if (outcome == LOG_STOPPED) {
		AUTO_FREE char *why = json_write_quoted(e.text);
		AUTO_FREE char *more = text_format("\"state\":\"stopped\",\"message\":%s",
						   why);
		supervisor_event(s, "log", more);
	} else if (outcome == LOG_RESUMED) {
		AUTO_FREE char *more = text_format("\"state\":\"resumed\",\"lost\":%llu",
						   (unsigned long long)l->lost);
		supervisor_event(s, "log", more);
	}
}

static void log_stream(struct supervisor *s, struct job *j, int stream)
{
	uint64_t *at = &j->capture->logged[stream];
	AUTO_FREE char *time = events_time(events_now());
	struct buffer line;
	struct piece p;

	if (j->exec.flags & EXEC_COPIES)
		return; /* a copy's output is a tar, which is not logged */
	if (*at < j->capture->ring[stream].begin)
		*at = j->capture->ring[stream].begin; /* the ring has lost bytes: those
						       * of an incomplete character */
	buffer_init(&line, LOG_LINE_MAX);
	while (capture_piece(j->capture, stream, *at, &p)) {
		json_write_open(&line, NULL, "{");
		json_write_text(&line, "time", time);
		outputs_put_piece(&line, j, stream, &p);
		json_write_close(&line, "}\n");
		log_line(s, &line);
		buffer_consume(&line, buffer_len(&line));
		*at += p.len;
	}
	buffer_done(&line);
}

static void keep(struct supervisor *s, struct job *j, int stream, const uint8_t *bytes,
		 size_t len)
{
	if (len == 0)
		return;
	struct output_ring *k = &j->capture->ring[stream];
	size_t more = output_ring_wants(k, len);

	output_ring_add(k, bytes, len, more ? grant(s, j, k, more) : 0);
	log_stream(s, j, stream);
}

/* --- secrets: nothing that is hidden is kept ------------------------------------ */

static void keep_shown(struct supervisor *s, struct job *j, int stream,
		       struct buffer *shown)
{
	keep(s, j, stream, buffer_data(shown), buffer_len(shown));
	buffer_done(shown);
}

static void keep_masked(struct supervisor *s, struct job *j, int stream,
			const uint8_t *bytes, size_t len)
{
	struct capture *c = j->capture;
	struct buffer shown;

	/* The output of a copy is a tar, which must not be changed. */
	if (redact_is_empty(&s->dispatcher.secrets) || (j->exec.flags & EXEC_COPIES))
		return keep(s, j, stream, bytes, len);
	buffer_init(&shown, REDACT_GROWTH * (REDACT_BYTES + READ_AT_ONCE));
	redact_feed(&s->dispatcher.secrets, &c->shown[stream], bytes, len, &shown);
	bool holds = c->shown[stream].end > c->shown[stream].begin;
	c->shown_ms[stream] = holds ? s->now_ms + SHOWN_MS : 0;
	keep_shown(s, j, stream, &shown);
}

/* Releases the bytes that were held back: they are not the start of a secret. */
static void keep_held(struct supervisor *s, struct job *j, int stream)
{
	struct capture *c = j->capture;
	struct buffer shown;

	if (!c->shown_ms[stream])
		return;
	c->shown_ms[stream] = 0;
	buffer_init(&shown, REDACT_GROWTH * REDACT_BYTES);
	redact_flush(&c->shown[stream], &shown);
	keep_shown(s, j, stream, &shown);
}

static void keep_due(struct supervisor *s)
{
	for (struct job *j = s->jobs.busy; j; j = j->next_busy)
		for (int i = 0; j->capture && i < CAPTURE_STREAMS; i++)
			if (clock_is_due(j->capture->shown_ms[i], s->now_ms))
				keep_held(s, j, i);
}

static void close_pipes(struct supervisor *s, struct job *j)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		keep_held(s, j, i);
	capture_close(j->capture);
}

/* Reads a stream once.  Returns the number of bytes; 0: there is none now, or the
 * stream has ended. */
static size_t read_stream(struct supervisor *s, struct job *j, int stream, size_t max)
{
	uint8_t bytes[READ_AT_ONCE];
	int *fd = &j->capture->out[stream];
	ssize_t n = read(*fd, bytes, max < sizeof(bytes) ? max : sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0) {
		keep_masked(s, j, stream, bytes, (size_t)n);
		return (size_t)n;
	}
	own_close(fd);
	keep_held(s, j, stream);
	log_stream(s, j, stream); /* also logs an incomplete character at the end */
	return 0;
}

/* --- the loop ------------------------------------------------------------------- */

/* Returns whether the process must wait for its client.  Then its pipe is not read: the
 * client has no room for more, and output that was not sent yet is kept already. */
static bool is_waited_for(struct supervisor *s, const struct job *j, int stream)
{
	const struct client *c = j->owner;
	const struct viewer *v = c && !j->is_detached ? outputs_viewer(c, j) : NULL;
	int64_t due;

	/* Fewer than 4 bytes may be an incomplete character, which waits for its rest. */
	if (!v || j->capture->ring[stream].end - v->at[stream] < 4 || !c->stuck_ms)
		return false;
	due = c->stuck_ms + OUTPUTS_STUCK_MS;
	if (clock_is_due(due, s->now_ms))
		return false;
	s->outputs.look_ms = clock_sooner(s->outputs.look_ms, due);
	return true;
}

/* Returns whether the job is the main process, and a client that holds it has much of the
 * log to get.  Such a client is waited for as long as it is connected: it has asked for
 * that.  Other processes are not delayed, and neither are the answers to any client. */
static bool is_held(const struct supervisor *s, const struct job *j)
{
	const struct log *l = &s->outputs.log;

	for (size_t i = 0; main_process_is(s, j) && i < s->client_count; i++)
		for (const struct log_reader *r = s->clients[i]->log_readers; r;
		     r = r->next)
			if (r->holds && r->of == l && l->end - r->at > OUTPUTS_HELD)
				return true;
	return false;
}

static void add_place(struct outputs *o, struct job *j, int stream)
{
	if (o->place_count == o->place_room) {
		o->place_room = o->place_room ? 2 * o->place_room : 16;
		o->places = mem_resize(o->places, o->place_room, sizeof(*o->places));
	}
	o->places[o->place_count++] = (struct place){ j, stream };
}

static void add_places(struct supervisor *s, struct job *j)
{
	const struct capture *c = j->capture;

	if (!c || (j->state != JOB_RUNNING && j->state != JOB_ENDED))
		return;
	for (int i = 0; i < CAPTURE_STREAMS && !is_held(s, j); i++)
		if (c->out[i] >= 0 && !is_waited_for(s, j, i))
			add_place(&s->outputs, j, i);
	if (c->in >= 0 && buffer_len(&c->input) > 0)
		add_place(&s->outputs, j, -1);
}

/* Returns whether nothing comes from or goes to the process any more.  Bytes that are
 * held back (shown_ms) go into the ring when their descriptor is closed. */
static bool is_quiet(const struct job *j)
{
	return j->state == JOB_ENDED && !j->owes_event &&
	       (!j->capture || capture_fds(j->capture) == 0);
}

size_t outputs_watch(struct supervisor *s, struct pollfd *w)
{
	struct outputs *o = &s->outputs;

	o->place_count = 0;
	o->look_ms = 0;
	for (struct job *j = s->jobs.busy, *next; j; j = next) {
		next = j->next_busy;
		if (is_quiet(j)) {
			jobs_rest(&s->jobs, j);
			continue;
		}
		for (int i = 0; j->capture && i < CAPTURE_STREAMS; i++)
			o->look_ms = clock_sooner(o->look_ms, j->capture->shown_ms[i]);
		add_places(s, j);
	}
	for (size_t i = 0; i < o->place_count; i++) {
		const struct place *p = &o->places[i];
		const struct capture *c = p->job->capture;
		w[i].fd = p->stream < 0 ? c->in : c->out[p->stream];
		w[i].events = p->stream < 0 ? POLLOUT : POLLIN;
	}
	return o->place_count;
}

static size_t serve(struct supervisor *s, const struct place *p)
{
	if (p->stream >= 0)
		return read_stream(s, p->job, p->stream, READ_AT_ONCE);
	capture_flush(p->job->capture);
	outputs_answer_writer(p->job);
	return 0;
}

/* Reads and writes the pipes that are ready.  Each turn begins after the pipe at which
 * the last turn stopped, so that each process gets its turn. */
void outputs_serve(struct supervisor *s, const struct pollfd *w)
{
	struct outputs *o = &s->outputs;
	size_t got = 0, first = o->first;

	keep_due(s);
	for (size_t n = 0; n < o->place_count && got < READ_IN_TURN; n++) {
		size_t i = (first + n) % o->place_count;
		if (!w[i].revents)
			continue;
		got += serve(s, &o->places[i]);
		o->first = i + 1;
	}
}

/* --- ends ------------------------------------------------------------------------- */

/* Reads only the bytes that are in the pipe now: a child that the process left behind
 * may write on and on. */
static void drain(struct supervisor *s, struct job *j, int stream)
{
	int left = 0;

	if (j->capture->out[stream] < 0 ||
	    ioctl(j->capture->out[stream], FIONREAD, &left) < 0)
		return;
	while (left > 0 && j->capture->out[stream] >= 0) {
		size_t n = read_stream(s, j, stream, (size_t)left);
		if (n == 0)
			return;
		left -= (int)n;
	}
}

void outputs_exited(struct supervisor *s, struct job *j)
{
	struct capture *c = j->capture;

	if (!c)
		return;
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		drain(s, j, i);
		keep_held(s, j, i);
	}
	c->has_exited = true;
	c->is_broken = c->is_broken || buffer_len(&c->input) > 0;
	own_close(&c->in);
	outputs_answer_writer(j);
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		c->last[i] = c->ring[i].end;
		log_stream(s, j, i); /* also logs an incomplete character at the end */
	}
}

void outputs_end(struct supervisor *s)
{
	for (struct job *j = s->jobs.first; j; j = j->next)
		if (j->capture && !j->capture->has_exited)
			outputs_exited(s, j);
}

void outputs_end_logs(struct supervisor *s)
{
	for (size_t i = 0; i < s->client_count; i++)
		for (struct log_reader *r = s->clients[i]->log_readers; r; r = r->next)
			r->follows = false, r->until = r->of->end;
}
