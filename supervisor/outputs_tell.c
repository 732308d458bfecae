#include "supervisor/outputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"

/* --- viewers ---------------------------------------------------------------- */

struct viewer *outputs_viewer(const struct client *c, const struct job *j)
{
	for (struct viewer *v = c->viewers; v; v = v->next)
		if (v->job == j)
			return v;
	return NULL;
}

void outputs_view(struct client *c, struct job *j)
{
	struct viewer *v = mem_zeroed(1, sizeof(*v));

	v->job = j;
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		v->at[i] = j->capture->ring[i].begin;
	v->next = c->viewers;
	c->viewers = v;
}

int outputs_attach(struct client *c, struct job *j, char **ret, struct err *e)
{
	const struct output_ring *k;

	if (!j->capture)
		return err_set(e, ERR_USAGE,
			       "the output of process %u goes to the "
			       "descriptors that it was started with",
			       j->id);
	if (outputs_viewer(c, j))
		return err_set(e, ERR_EXISTS, "this connection gets the output of "
					      "process %u already", j->id);
	outputs_view(c, j);
	k = j->capture->ring;
	*ret = text_format("{\"process\":%u,\"kept\":{\"stdout\":%llu,\"stderr\":%llu},"
			   "\"lost\":{\"stdout\":%llu,\"stderr\":%llu}}",
			   j->id, (unsigned long long)(k[0].end - k[0].begin),
			   (unsigned long long)(k[1].end - k[1].begin),
			   (unsigned long long)k[0].begin,
			   (unsigned long long)k[1].begin);
	return 0;
}

static void open_output(struct buffer *out)
{
	rpc_open_notification(out, "output");
	json_write_open(out, "params", "{");
}

static void put_dropped(struct client *c, const struct job *j, int stream, uint64_t count)
{
	struct buffer *out = &c->conn.out;

	open_output(out);
	json_write_number(out, "process", j->id);
	json_write_text(out, "stream", capture_stream_name(stream));
	json_write_number(out, "dropped", (int64_t)count);
	json_write_close(out, "}}\n");
}

/* Sends one piece of one stream to a client. */
static bool tell_piece(struct client *c, struct viewer *v, int stream)
{
	const struct capture *capture = v->job->capture;
	uint64_t begin = capture->ring[stream].begin;
	struct piece p;

	if (v->at[stream] < begin) {
		put_dropped(c, v->job, stream, begin - v->at[stream]);
		v->at[stream] = begin;
		return true;
	}
	if (!capture_piece(capture, stream, v->at[stream], &p))
		return false;
	open_output(&c->conn.out);
	outputs_put_piece(&c->conn.out, v->job, stream, &p);
	json_write_close(&c->conn.out, "}}\n");
	v->at[stream] += p.len;
	return true;
}

/* Sends one piece of each stream, so that no stream with much output delays the
 * others. */
static bool tell_pieces(struct client *c)
{
	bool has_some = false;

	for (struct viewer *v = c->viewers; v; v = v->next) {
		if (v->job->state != JOB_RUNNING && v->job->state != JOB_ENDED)
			continue; /* its output must come after the answer to
				   * exec.start */
		for (int i = 0; i < CAPTURE_STREAMS; i++)
			if (buffer_len(&c->conn.out) <= CLIENT_HIGH)
				has_some = tell_piece(c, v, i) || has_some;
	}
	return has_some;
}

static bool has_to_tell(const struct viewer *v)
{
	const struct capture *c = v->job->capture;

	for (int i = 0; c->has_exited && i < CAPTURE_STREAMS; i++)
		if (v->at[i] < c->last[i])
			return true;
	return false;
}

bool outputs_is_behind(const struct client *c, const struct job *j)
{
	const struct viewer *v = j->capture ? outputs_viewer(c, j) : NULL;

	return v && has_to_tell(v);
}

/* --- input ---------------------------------------------------------------------- */

static int gone(const struct job *j, struct err *e)
{
	return err_set(e, ERR_GONE, "process %u reads its input no more", j->id);
}

static int check_write(const struct job *j, struct bytes bytes, struct err *e)
{
	const struct capture *c = j->capture;

	if (!c || !c->has_stdin)
		return err_set(e, ERR_USAGE,
			       "process %u was not started with \"stdin\":true", j->id);
	if (c->has_eof)
		return err_set(e, ERR_USAGE,
			       "the input of process %u was ended by \"eof\"", j->id);
	if (c->in < 0)
		return gone(j, e);
	if (bytes.len > CAPTURE_INPUT)
		return err_set(e, ERR_LIMIT, "%zu bytes at once, and %u is the most",
			       bytes.len, CAPTURE_INPUT);
	if (buffer_len(&c->input) > CAPTURE_INPUT)
		return err_set(e, ERR_BUSY,
			       "a write to process %u waits for room already", j->id);
	return 0;
}

int outputs_write(struct job *j, struct client *c, struct bytes bytes, bool has_eof,
		  char **request, struct err *e)
{
	struct capture *to = j->capture;

	if (check_write(j, bytes, e) < 0)
		return -1;
	/* There is room: the buffer holds twice CAPTURE_INPUT. */
	(void)buffer_append(&to->input, bytes.data, bytes.len);
	to->has_eof = has_eof;
	capture_flush(to);
	if (to->is_broken)
		return gone(j, e);
	if (buffer_len(&to->input) <= CAPTURE_INPUT)
		return 1;
	to->writer = c;
	free(to->request);
	to->request = *request;
	*request = NULL;
	c->under_way++;
	return 0;
}

void outputs_answer_writer(struct job *j)
{
	struct capture *from = j->capture;
	struct client *c = from->writer;
	struct err e;

	if (!c || (!from->is_broken && buffer_len(&from->input) > CAPTURE_INPUT))
		return;
	if (from->is_broken) {
		(void)gone(j, &e);
		client_error(c, from->request, RPC_FAILED, &e);
	} else {
		client_result(c, from->request, "{}");
	}
	from->writer = NULL;
	c->under_way--;
}

/* --- the log -------------------------------------------------------------------- */

void outputs_logs(struct client *c, const struct log_reader *reader, uint64_t tail)
{
	const struct log *l = reader->of;
	struct log_reader *r = mem_zeroed(1, sizeof(*r)), **at = &c->log_readers;

	*r = *reader;
	r->until = l->end;
	c->holds_main = c->holds_main || r->holds;
	r->at = tail == UINT64_MAX ? l->begin : log_tail(l, tail);
	while (*at)
		at = &(*at)->next;
	*at = r;
	c->under_way++;
}

/* Sends entries of a log to the client.  The text of an entry is the params of its
 * notification, without a change.  Each entry ends with "\n", which becomes a NUL
 * here. */
static void put_entries(struct client *c, const char *method, char *entries, size_t len)
{
	char *const end = entries + len;

	while (entries < end) {
		char *line_end = memchr(entries, '\n', (size_t)(end - entries));
		*line_end = '\0';
		rpc_put_notification(&c->conn.out, method, entries);
		entries = line_end + 1;
	}
}

/* Returns the length of the bytes without an incomplete entry at the end. */
static size_t whole_entries(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = len ? memrchr(bytes, '\n', len) : NULL;

	return end ? (size_t)(end - bytes) + 1 : 0;
}

static bool tell_entries(struct client *c, struct log_reader *r)
{
	const struct log *l = r->of;
	AUTO_FREE uint8_t *bytes = NULL;
	size_t len;

	if (r->at < l->begin) {
		unsigned long long count = l->begin - r->at;
		AUTO_FREE char *dropped = text_format("{\"dropped\":%llu}", count);
		rpc_put_notification(&c->conn.out, r->method, dropped);
		r->at = l->begin;
	}
	if (r->at >= l->end)
		return false;
	bytes = mem_new(LOG_LINE_MAX);
	len = whole_entries(bytes, log_read(l, r->at, bytes, LOG_LINE_MAX));
	put_entries(c, r->method, (char *)bytes, len);
	r->at += len;
	if (len == 0) /* the file is shorter than expected: the user has truncated it */
		r->at = r->at < l->middle ? l->middle : l->end;
	return true;
}

static bool has_entries(const struct log_reader *r)
{
	return r->follows || r->at < r->until;
}

static bool tell_logs(struct client *c)
{
	bool has_some = false;

	for (struct log_reader **at = &c->log_readers; *at;) {
		struct log_reader *r = *at;
		while (buffer_len(&c->conn.out) <= CLIENT_HIGH && has_entries(r) &&
		       tell_entries(c, r))
			has_some = true;
		if (has_entries(r)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		client_result(c, r->request, "{}");
		c->under_way--;
		free(r->request);
		free(r);
		has_some = true;
	}
	return has_some;
}

/* --- clients ---------------------------------------------------------------------- */

bool outputs_tell(struct client *c)
{
	bool has_some = false;

	while (buffer_len(&c->conn.out) <= CLIENT_HIGH && tell_pieces(c))
		has_some = true;
	return tell_logs(c) || has_some;
}

static void drop_viewer(struct client *c, const struct job *j)
{
	struct viewer **at = &c->viewers, *v;

	while (*at && (*at)->job != j)
		at = &(*at)->next;
	v = *at;
	if (!v)
		return;
	*at = v->next;
	free(v);
}

/* Output that a client has not got before the job is freed is reported as dropped. */
void outputs_forget(struct supervisor *s, struct job *j)
{
	for (size_t n = 0; j->capture && n < s->client_count; n++) {
		struct client *c = s->clients[n];
		const struct viewer *v = outputs_viewer(c, j);
		for (int i = 0; v && i < CAPTURE_STREAMS; i++)
			if (v->at[i] < j->capture->ring[i].end)
				put_dropped(c, j, i, j->capture->ring[i].end - v->at[i]);
		drop_viewer(c, j);
	}
}

void outputs_leave(struct supervisor *s, struct client *c)
{
	for (struct job *j = s->jobs.busy; j; j = j->next_busy)
		if (j->capture && j->capture->writer == c)
			j->capture->writer = NULL;
	while (c->viewers)
		drop_viewer(c, c->viewers->job);
	for (struct log_reader *r = c->log_readers, *next; r; r = next) {
		next = r->next;
		free(r->request);
		free(r);
	}
	c->log_readers = NULL;
}
