#include "gateway/job.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/own.h"
#include "hutch.h"

#define JOBS_MAX 64 /* requests under way; no more is read until one is answered */

void jobs_watch(struct spawner *s)
{
	(void)loop_watch(&s->loop, &s->link, s->jobs < JOBS_MAX ? EPOLLIN : 0, NULL);
}

void job_free(struct job *j)
{
	struct spawner *s = j->s;

	loop_stop(&s->loop, &j->timer);
	job_build_forget(j);
	if (j->handle) {
		if (j->watch.fd > 0)
			loop_unwatch(&s->loop, &j->watch);
		hutch_close(j->handle);
	}
	own_close(&j->file);
	order_done(&j->order);
	free(j);
	s->jobs--;
	jobs_watch(s);
}

/* Waits until the front takes its answers.  False: a signal has come first, and a front that
 * was taken over must not keep the server from its end. */
static bool wait_for_front(const struct spawner *s)
{
	struct pollfd both[] = { { .fd = s->link.fd, .events = POLLOUT },
				 { .fd = s->signals.fd, .events = POLLIN } };

	while (poll(both, ARRAY_LEN(both), -1) < 0 && errno == EINTR)
		;
	return both[1].revents == 0;
}

static bool send_all(const struct spawner *s, const struct msghdr *m)
{
	while (sendmsg(s->link.fd, m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		if (errno != EAGAIN || !wait_for_front(s))
			return false;
	return true;
}

/* Sends an answer, and ends the job.  The front reads all the time; one that does not is
 * broken, and is waited for. */
static void send_answer(struct job *j, const char *json, int fd)
{
	struct iovec bytes = { (void *)(uintptr_t)json, strlen(json) };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (!send_all(j->s, &m))
		j->s->is_over = true;
	job_free(j);
}

void job_succeed(struct job *j, int fd)
{
	AUTO_FREE char *json =
		text_format("{\"id\":%llu}", (unsigned long long)j->order.id);

	send_answer(j, json, fd);
}

void job_fail(struct job *j, const char *kind, const char *message)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "id", (int64_t)j->order.id);
	json_write_open(&b, "error", "{");
	json_write_text(&b, "kind", kind);
	json_write_text(&b, "message", message);
	json_write_close(&b, "}}");
	AUTO_FREE char *json = json_write_end(&b);
	send_answer(j, json, -1);
}

void job_fail_err(struct job *j, const struct err *e)
{
	job_fail(j, err_kind_name(e->kind), e->text);
}

void job_fail_hutch(struct job *j, const struct hutch_error *e)
{
	job_fail(j, hutch_kind_name(e->kind), e->message);
}

/* Answers with a text of any length, in a file: a packet has room for a short one alone. */
void job_say_text(struct job *j, const char *text)
{
	struct err e;
	AUTO_CLOSE int fd = memfd_create("said", MFD_CLOEXEC);

	if (fd >= 0 && io_write_all(fd, text, strlen(text)) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0) {
		job_succeed(j, fd);
		return;
	}
	(void)err_sys(&e, "write an answer");
	job_fail_err(j, &e);
}

void job_say_number(struct job *j, unsigned number)
{
	AUTO_FREE char *json = text_format("{\"id\":%llu,\"said\":%u}",
					   (unsigned long long)j->order.id, number);

	send_answer(j, json, -1);
}

static void on_late(void *context)
{
	job_fail(context, "timeout", "the sandbox's supervisor does not answer");
}

void job_limit(struct job *j)
{
	j->timer = (struct timer){ .context = j, .expired = on_late };
	loop_start(&j->s->loop, &j->timer, JOB_CONNECT_MS);
}
