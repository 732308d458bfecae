#include "egress/launch/egress_news.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/launch/egress.h"

#define READ_STEP (16u << 10) /* bytes of one read */

int egress_fd(const struct egress *x)
{
	return x->control;
}

/* Takes hutch-egress for ended. */
static void lose(struct egress *x)
{
	own_close(&x->control);
	x->is_lost = true;
}

void egress_fill(struct egress *x)
{
	uint8_t *to = buffer_reserve(&x->said, READ_STEP);

	if (x->control < 0)
		return;
	if (!to) { /* a line longer than any that hutch-egress writes */
		lose(x);
		return;
	}
	ssize_t n = recv(x->control, to, READ_STEP, MSG_DONTWAIT);
	if (n > 0)
		buffer_added(&x->said, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		lose(x);
}

static int read_line(struct egress_news *ret, const char *line, size_t len)
{
	struct json_at root;
	struct err e;

	ret->line = text_format("%.*s", (int)len, line);
	ret->doc = json_parse(ret->line, strlen(ret->line), &e);
	if (!ret->doc)
		return -1;
	json_root(ret->doc, "hutch-egress", &root);
	ret->kind = json_member(&root, "net", &ret->value)   ? EGRESS_NEWS_NET
		    : json_member(&root, "ask", &ret->value) ? EGRESS_NEWS_ASK
							     : EGRESS_NEWS_SAID;
	if (ret->kind == EGRESS_NEWS_SAID)
		ret->value = root;
	return 0;
}

static bool take_lost(struct egress *x, struct egress_news *ret)
{
	if (!x->is_lost)
		return false;
	x->is_lost = false;
	ret->kind = EGRESS_NEWS_LOST;
	return true;
}

bool egress_next(struct egress *x, struct egress_news *ret)
{
	const char *line = (const char *)buffer_data(&x->said);
	const char *end = memchr(line, '\n', buffer_len(&x->said));

	*ret = (struct egress_news){ 0 };
	if (!end)
		return take_lost(x, ret);
	const size_t len = (size_t)(end - line);
	int result = read_line(ret, line, len);
	buffer_consume(&x->said, len + 1);
	if (result == 0)
		return true;
	egress_news_done(ret);
	lose(x);
	return take_lost(x, ret);
}

void egress_news_done(struct egress_news *n)
{
	json_free(n->doc);
	n->doc = NULL;
	own_free(&n->line);
}
