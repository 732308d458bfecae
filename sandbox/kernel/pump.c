#include "sandbox/kernel/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/own.h"
#include "base/term_escape.h"

#define STEP (64u << 10)
/* The size of a pipe that was widened. */
#define WIDE (256 << 10)

/* The most bytes that a blocking descriptor surely takes without blocking, once poll(2)
 * has reported POLLOUT (PIPE_BUF, pipe(7)). */
#define SMALL 4096

/* The room for pending bytes; the visible form of one byte takes up to 4 bytes. */
#define PENDING_MAX (4 * STEP)

void pump_init(struct pump *p, int from, int to, enum pump_mode mode)
{
	*p = (struct pump){ .from = from, .to = to, .mode = mode };
	buffer_init(&p->pending, PENDING_MAX);
}

void pump_done(struct pump *p)
{
	if (!p)
		return;
	own_close(&p->from);
	own_close(&p->to);
	buffer_done(&p->pending);
}

bool pump_is_open(const struct pump *p)
{
	return p->to >= 0;
}

struct pollfd pump_poll(const struct pump *p)
{
	if ((p->is_blocked || p->is_last) && p->to >= 0)
		return (struct pollfd){ .fd = p->to, .events = POLLOUT };
	return (struct pollfd){ .fd = p->from, .events = POLLIN };
}

static bool is_retry(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Returns how many bytes the next step may read: at most `most`, and after pump_finish()
 * no more than are left in the pipe. */
static size_t step_of(const struct pump *p, size_t most)
{
	return p->is_last && p->left < most ? p->left : most;
}

/* Fails if the user has too many large pipes (pipe(7)); the pipe stays as it is then. */
static void widen(struct pump *p)
{
	int room = fcntl(p->from, F_SETPIPE_SZ, WIDE);

	if (room > 0)
		p->step = (size_t)room;
	p->may_widen = false;
}

static void took(struct pump *p, size_t len)
{
	p->left -= p->left < len ? p->left : len;
	if (p->may_widen && len == STEP)
		widen(p);
}

/* Records why a write failed.  EPIPE is no failure: the reader has read as much as it
 * wanted, and has closed its end. */
static void note_failure(struct pump *p)
{
	if (errno != EPIPE)
		p->failed = errno;
}

static void run_splice(struct pump *p)
{
	const size_t most = p->step ? p->step : STEP;
	ssize_t n =
		splice(p->from, NULL, p->to, NULL, step_of(p, most), SPLICE_F_NONBLOCK);

	if (n > 0) {
		took(p, (size_t)n);
		p->is_blocked = false;
	} else if (n < 0 && errno == EINVAL) {
		p->mode = PUMP_COPY; /* splice(2) does not work on `from` */
	} else if (n < 0 && is_retry()) {
		/* poll(2) said that there is something to read, so it is `to` that has
		 * no room. */
		p->is_blocked = !p->is_blocked;
	} else {
		if (n < 0)
			note_failure(p);
		pump_done(p);
	}
}

/* Writes pending bytes.  Returns false if the write failed, as when the reader has
 * closed its end. */
static bool flush(struct pump *p)
{
	size_t len = buffer_len(&p->pending);

	if (len == 0)
		return true;
	if (p->mode != PUMP_FILE && len > SMALL)
		len = SMALL;
	ssize_t n = write(p->to, buffer_data(&p->pending), len);
	if (n < 0 && is_retry())
		return true;
	if (n < 0) {
		note_failure(p);
		return false;
	}
	buffer_consume(&p->pending, (size_t)n);
	return true;
}

/* Appends the bytes to `pending`, with control characters made visible.  The last byte
 * may be the first half of a character or of a line's end: it is held back until the
 * next byte comes. */
static void add_visible(struct pump *p, uint8_t *raw, size_t len)
{
	uint8_t last = raw[len - 1];
	bool is_half = last == '\r' || last == 0xc2;

	term_escape_append(&p->pending, raw, len - is_half); /* layer: term-escape */
	p->held = is_half ? last : 0;
}

static bool fill_visible(struct pump *p)
{
	uint8_t raw[1 + STEP / 4] = { p->held };
	size_t held = p->held ? 1 : 0;
	ssize_t n = read(p->from, raw + held, step_of(p, sizeof(raw) - held));

	if (n < 0)
		return is_retry();
	if (n == 0 && !held)
		return false;
	p->held = 0;
	took(p, (size_t)n);
	if (n == 0)
		term_escape_append(&p->pending, raw, held);
	else
		add_visible(p, raw, held + (size_t)n);
	return true;
}

/* Returns how many bytes to make room for.  Most pumps only see the end of their input,
 * for which no large buffer is mapped. */
static size_t room_for(const struct pump *p)
{
	int ready = 0;
	const bool is_small = ioctl(p->from, FIONREAD, &ready) == 0 && ready <= SMALL;

	return step_of(p, is_small ? SMALL : STEP);
}

static bool fill(struct pump *p)
{
	/* `pending` is empty here, so STEP bytes fit */
	const size_t room = room_for(p);
	uint8_t *to = buffer_reserve(&p->pending, room);
	ssize_t n = read(p->from, to, room);

	if (n < 0)
		return is_retry();
	buffer_added(&p->pending, (size_t)n);
	took(p, (size_t)n);
	return n > 0;
}

static void run_copy(struct pump *p)
{
	bool is_alive = p->is_blocked		      ? flush(p)
			: p->mode == PUMP_VISIBLE ? fill_visible(p)
						  : fill(p);

	if (!is_alive)
		pump_done(p);
	else
		p->is_blocked = buffer_len(&p->pending) > 0;
}

static bool is_through(const struct pump *p)
{
	return p->is_last && p->left == 0 && buffer_len(&p->pending) == 0;
}

static void step(struct pump *p)
{
	if (p->mode == PUMP_SPLICE)
		run_splice(p);
	else
		run_copy(p);
}

/* Corrects how many bytes are left in the pipe: another process that was given a
 * descriptor of the pipe may still read from it. */
static void look_again(struct pump *p)
{
	int left = 0;

	if (ioctl(p->from, FIONREAD, &left) < 0 || (size_t)left < p->left)
		p->left = (size_t)left;
}

void pump_run(struct pump *p)
{
	if (p->to < 0)
		return;
	if (p->is_last)
		look_again(p);
	if (!is_through(p))
		step(p);
	if (p->to < 0 || !is_through(p))
		return;
	if (p->held) { /* half a character whose rest will not come is shown as it is */
		term_escape_append(&p->pending, &p->held, 1);
		p->held = 0;
		p->is_blocked = true;
		return;
	}
	pump_done(p);
}

void pump_finish(struct pump *p)
{
	int left = 0;

	if (p->to < 0)
		return;
	p->is_last = true;
	p->left = ioctl(p->from, FIONREAD, &left) == 0 ? (size_t)left : 0;
	if (is_through(p) && !p->held)
		pump_done(p);
	else if (p->left == 0)
		p->is_blocked = true; /* makes the next step write the held and the
				       * pending bytes */
}
