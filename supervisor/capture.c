#include "supervisor/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "supervisor/connection.h"

const char *capture_stream_name(int stream)
{
	return stream == CAPTURE_STDOUT ? "stdout" : "stderr";
}

/* Makes a pipe between the supervisor and a process.  Only the supervisor's end is
 * non-blocking: the flag belongs to an open file description, and each end has its
 * own. */
static int make_pipe(int *ret_ours, int *ret_theirs, bool is_input, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	*ret_ours = ends[is_input];
	*ret_theirs = ends[!is_input];
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "make a pipe not block");
	return 0;
}

static int make_nothing(int *ret, struct err *e)
{
	*ret = open("/dev/null", O_RDWR | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open /dev/null") : 0;
}

static int make_all(struct capture *c, bool has_terminal, struct connection_fds *fds,
		    struct err *e)
{
	int *theirs = fds->fds;

	if (c->has_stdin ? make_pipe(&c->in, &theirs[0], true, e)
			 : make_nothing(&theirs[0], e))
		return -1;
	if (make_pipe(&c->out[CAPTURE_STDOUT], &theirs[1], false, e) < 0)
		return -1;
	/* With a terminal the executor ignores the third descriptor, so it gets a
	 * placeholder. */
	return has_terminal ? make_nothing(&theirs[2], e)
			    : make_pipe(&c->out[CAPTURE_STDERR], &theirs[2], false, e);
}

struct capture *capture_new(bool has_stdin, bool has_terminal, struct connection_fds *ret,
			    struct err *e)
{
	struct capture *c = mem_zeroed(1, sizeof(*c));
	struct connection_fds fds = { .fds = { -1, -1, -1 }, .count = CONNECTION_FDS };

	*c = (struct capture){ .in = -1, .out = { -1, -1 }, .has_stdin = has_stdin };
	buffer_init(&c->input, 2 * CAPTURE_INPUT);
	if (make_all(c, has_terminal, &fds, e) < 0) {
		connection_fds_done(&fds);
		capture_free(c);
		return NULL;
	}
	*ret = fds;
	return c;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	capture_close(c);
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		output_ring_done(&c->ring[i]), redact_stream_done(&c->shown[i]);
	buffer_done(&c->input);
	free(c->request);
	free(c);
}

size_t capture_fds(const struct capture *c)
{
	size_t count = c->in >= 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++)
		count += c->out[i] >= 0;
	return count;
}

void capture_close(struct capture *c)
{
	own_close(&c->in);
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		own_close(&c->out[i]);
}

bool capture_is_over(const struct capture *c)
{
	return c->out[CAPTURE_STDOUT] < 0 && c->out[CAPTURE_STDERR] < 0;
}

/* Counts the bytes that make up complete UTF-8 characters.  Returns false if the bytes
 * are not valid text; an incomplete character at the end is valid. */
static bool measure_text(const uint8_t *at, size_t len, size_t *ret_whole)
{
	size_t whole = 0;

	while (whole < len) {
		int n = at[whole] ? utf8_char(at + whole, len - whole) : -1;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		whole += (size_t)n;
	}
	*ret_whole = whole;
	return true;
}

bool capture_piece(const struct capture *c, int stream, uint64_t at, struct piece *ret)
{
	const struct output_ring *k = &c->ring[stream];
	bool is_before_end = c->has_exited && at < c->last[stream];
	bool is_over = is_before_end || c->out[stream] < 0;
	uint64_t end = is_before_end ? c->last[stream] : k->end;
	size_t whole, max = end - at < CAPTURE_PIECE ? (size_t)(end - at) : CAPTURE_PIECE;

	ret->len = output_ring_copy(k, at, ret->bytes, max);
	ret->is_text = measure_text(ret->bytes, ret->len, &whole);
	if (ret->is_text && whole > 0)
		ret->len = whole;
	else if (ret->is_text && !is_over)
		ret->len = 0; /* only the first bytes of a character are here; the
			       * others may still come */
	else
		ret->is_text = false;
	return ret->len > 0;
}

void capture_flush(struct capture *c)
{
	while (c->in >= 0 && buffer_len(&c->input) > 0) {
		ssize_t n = write(c->in, buffer_data(&c->input), buffer_len(&c->input));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			buffer_consume(&c->input, (size_t)n);
		c->is_broken = n < 0;
		if (c->is_broken)
			own_close(&c->in);
	}
	if (c->has_eof)
		own_close(&c->in);
	/* buffer_done() and buffer_init() instead of a reset, to free the memory too */
	buffer_done(&c->input);
	buffer_init(&c->input, 2 * CAPTURE_INPUT);
}
