#include "gateway/copy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "gateway/box.h"

static void on_pipe(void *context, uint32_t events)
{
	struct copy *c = context;

	(void)events;
	c->moved(c->context);
}

void copy_close(struct copy *c)
{
	if (c->pipe.fd < 0)
		return;
	loop_unwatch(c->box->all->loop, &c->pipe);
	own_close(&c->pipe.fd);
}

void copy_hold(struct copy *c, bool is_held)
{
	if (c->pipe.fd < 0)
		return;
	const uint32_t events = fcntl(c->pipe.fd, F_GETFL) & O_WRONLY ? EPOLLOUT
								      : EPOLLIN;
	(void)loop_watch(c->box->all->loop, &c->pipe, is_held ? 0 : events, NULL);
}

static void end(struct copy *c, const char *error, const char *words,
		const struct hutch_error *why)
{
	c->is_running = false;
	own_close(&c->words);
	c->ended(c->context, error, words, why);
}

static void on_end(void *context, const struct hutch_message *m)
{
	struct copy *c = context;
	char words[COPY_WORDS];

	if (m->error.kind != HUTCH_OK) {
		end(c, NULL, NULL, &m->error);
		return;
	}
	const ssize_t n = read(c->words, words, sizeof(words) - 1);
	words[n > 0 ? n : 0] = '\0';
	words[strcspn(words, "\n")] = '\0';
	AUTO_FREE char *error = hutch_json_string(m->json, "error");
	end(c, error, words, NULL);
}

static void on_start(void *context, const struct hutch_message *m)
{
	struct copy *c = context;
	struct hutch_error e = m->error;
	int64_t process = 0;

	if (e.kind == HUTCH_OK && hutch_json_integer(m->json, "process", &process)) {
		void *tag = box_tag(c->box, c, on_end);
		if (hutch_exec_wait(c->box->handle, process, tag, &e) >= 0)
			return;
		box_untag(tag);
	}
	end(c, NULL, NULL, &e);
}

static int call(struct copy *c, bool is_in, const char *params, int far, int words,
		struct hutch_error *e)
{
	/* The process does not use the end in place of its stdin, or stdout. */
	const int fds[] = { is_in ? far : words, is_in ? words : far, words };
	const struct hutch_request r = { .size = sizeof(r),
					 .method = is_in ? "copy.in" : "copy.out",
					 .params = params,
					 .fds = fds,
					 .fd_count = ARRAY_LEN(fds) };
	void *tag = box_tag(c->box, c, on_start);

	if (hutch_call(c->box->handle, &r, tag, e) >= 0)
		return 0;
	box_untag(tag);
	return -1;
}

static int fail(struct hutch_error *e)
{
	*e = (struct hutch_error){ .kind = HUTCH_LIMIT,
				   .message = "the server has too few descriptors" };
	return -1;
}

int copy_start(struct copy *c, struct box *b, bool is_in, const char *params,
	       struct hutch_error *e)
{
	int tar[2], words[2];

	c->box = b;
	c->pipe = (struct watch){ -1, c, on_pipe };
	c->words = -1;
	if (pipe2(tar, O_CLOEXEC) < 0)
		return fail(e);
	c->pipe.fd = tar[is_in];
	AUTO_CLOSE int far = tar[!is_in];
	if (pipe2(words, O_CLOEXEC) < 0) {
		own_close(&c->pipe.fd);
		return fail(e);
	}
	c->words = words[0];
	AUTO_CLOSE int word_end = words[1];
	(void)fcntl(c->pipe.fd, F_SETFL, O_NONBLOCK); /* cannot fail for a pipe */
	(void)fcntl(c->words, F_SETFL, O_NONBLOCK);
	if (loop_watch(b->all->loop, &c->pipe, is_in ? EPOLLOUT : EPOLLIN, NULL) == 0 &&
	    call(c, is_in, params, far, word_end, e) == 0) {
		c->is_running = true;
		return 0;
	}
	copy_close(c);
	own_close(&c->words);
	return -1;
}
