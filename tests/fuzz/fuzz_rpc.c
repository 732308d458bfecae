/* Lines of the control socket are arbitrary bytes.  Every line is answered in
 * the documented form, and memory is bounded: the whole path of a request, with
 * an executor that accepts requests and answers nothing.  The first byte tells
 * how much is sent at once, and which parts come with descriptors. */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}\n"

struct scene {
	struct policy policy;
	struct launch launch;
	struct registry_entry entry;
	struct supervisor s;
	struct list env;
	int executor, client, nothing;
	char folder[32];
};

static void must(int is_so)
{
	if (!is_so)
		abort();
}

/* Makes the sandbox's registry entry, with its files in a separate folder. */
static void make_entry(struct scene *x)
{
	registry_init(&x->entry);
	strcpy(x->entry.name, "box");
	strcpy(x->entry.id, "0123456789ab");
	strcpy(x->folder, "/tmp/hutch-fuzz.XXXXXX");
	must(mkdtemp(x->folder) != NULL);
	x->entry.folder = open(x->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(x->entry.folder >= 0);
}

static void remove_entry(struct scene *x)
{
	(void)unlinkat(x->entry.folder, "info", 0);
	(void)unlinkat(x->entry.folder, "status", 0);
	(void)close(x->entry.folder);
	(void)rmdir(x->folder);
}

static void open_scene(struct scene *x)
{
	static char created[1];
	struct supervisor *s = &x->s;
	int ends[2];

	policy_init(&x->policy);
	launch_init(&x->launch, &x->policy);
	x->launch.plan.workdir = text_copy("/");
	make_entry(x);
	list_add(&x->env, "HOME=/");
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	     0);
	x->executor = ends[1];
	sandbox_init(&x->launch.sandbox);
	x->launch.sandbox.channel = ends[0];
	*s = (struct supervisor){ .now_ms = 1, .launch = &x->launch, .entry = &x->entry,
				  .ready = -1, .created = created, .listener = -1,
				  .status = REGISTRY_READY };
	s->instance = (struct instance){ .sandbox = &x->launch.sandbox,
					 .context = s,
					 .state = INSTANCE_READY };
	instance_init(&s->instance, s->now_ms);
	dispatcher_init(&s->dispatcher);
	methods_init_jobs(s);
	/* The supervisor formats entries of its log, which go to no file. */
	s->supervisor_log = (struct supervisor_log){ .level = LOG_LEVEL_DEBUG,
						     .entry = &x->entry,
						     .secrets = &s->dispatcher.secrets,
						     .now_ms = &s->now_ms };
	log_init(&s->supervisor_log.log, -1, LOG_LEVEL_FILE, 1 << 20);
	s->dispatcher.wire = &s->instance.channel.out;
	s->dispatcher.shell = (struct exec){ .cwd = "/", .env = x->env.items };
	s->dispatcher.sandbox_info = (struct sandbox_info){ 10, "agent", "hutch", false };
	x->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	     0);
	x->client = ends[1];
	clients_add(s, ends[0]);
}

static void close_scene(struct scene *x)
{
	struct supervisor *s = &x->s;

	clients_done(s);
	supervisor_log_done(&s->supervisor_log);
	jobs_done(&s->jobs);
	dispatcher_done(&s->dispatcher);
	instance_done(&s->instance);
	events_done(&s->events);
	(void)close(x->launch.sandbox.channel);
	x->launch.sandbox.channel = -1;
	(void)close(x->executor);
	(void)close(x->client);
	(void)close(x->nothing);
	remove_entry(x);
	list_done(&x->env);
	launch_done(&x->launch);
	policy_done(&x->policy);
}

/* Checks a whole answer or notification. */
static void check_line(const char *line, size_t len)
{
	static const char *const keys[] = { "jsonrpc", "id", "method", "params", "result",
					    "error", NULL };
	struct json_at root, a, b;
	struct err e;
	AUTO_JSON struct json *doc = json_parse(line, len, &e);

	must(doc != NULL);
	json_root(doc, "line", &root);
	must(json_only(&root, keys, &e) == 0);
	must(json_member(&root, "jsonrpc", &a));
	if (json_member(&root, "method", &a))
		must(json_member(&root, "params", &b) && !json_member(&root, "id", &b));
	else if (json_member(&root, "error", &a))
		must(json_member(&a, "code", &b) && json_member(&a, "message", &b) &&
		     json_member(&a, "data", &b));
	else
		must(json_member(&root, "result", &b) && json_member(&root, "id", &b));
}

/* After act.stream a client gets observations instead of answers; fuzz_action checks
 * those. */
static void check_answers(struct buffer *in, bool is_stream)
{
	const char *end;

	while ((end = memchr(buffer_data(in) ? (const char *)buffer_data(in) : "", '\n',
			     buffer_len(in)))) {
		size_t len = (size_t)(end - (const char *)buffer_data(in));
		if (!is_stream)
			check_line((const char *)buffer_data(in), len);
		buffer_consume(in, len + 1);
	}
}

/* Reads everything that was sent to the other ends. */
static void hear(struct scene *x, struct buffer *in, bool is_stream)
{
	char dropped[4096];
	ssize_t n;

	while (recv(x->executor, dropped, sizeof(dropped), 0) > 0)
		;
	while ((n = recv(x->client, dropped, sizeof(dropped), 0)) > 0)
		must(buffer_append(in, dropped, (size_t)n));
	check_answers(in, is_stream);
}

static void turn(struct scene *x, struct buffer *in)
{
	struct supervisor *s = &x->s;
	struct pollfd w[2];
	bool is_stream = s->client_count && s->clients[0]->is_stream;

	if (s->client_count) {
		clients_watch(s, w);
		(void)poll(w, s->client_count, 0);
		clients_serve(s, w);
	}
	do {
		while (dispatcher_start(&s->dispatcher))
			instance_flush(&s->instance);
		jobs_send(&s->jobs, s->now_ms);
		instance_flush(&s->instance);
	} while (clients_work(s));
	is_stream = is_stream || (s->client_count && s->clients[0]->is_stream);
	hear(x, in, is_stream);
}

static void say(struct scene *x, const void *bytes, size_t len, unsigned count)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = { .space = { 0 } };
	struct iovec part = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (unsigned i = 0; i < count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &x->nothing, sizeof(int));
	}
	/* Fails if the supervisor has closed the connection. */
	(void)sendmsg(x->client, &m, MSG_NOSIGNAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene x = { .entry = { .folder = -1 } };
	struct buffer in;
	unsigned mode = size ? data[0] : 0, fds = mode & 7;
	size_t step = mode & 8 ? 7 : 4096;

	if (size < 1)
		return 0;
	buffer_init(&in, 256u << 20);
	open_scene(&x);
	say(&x, HELLO, sizeof(HELLO) - 1, 0);
	turn(&x, &in);
	for (size_t at = 1; at < size; at += step) {
		say(&x, data + at, size - at < step ? size - at : step,
		    fds > 4 ? 0 : fds);
		if (!(mode & 16))
			turn(&x, &in);
	}
	(void)shutdown(x.client, SHUT_WR);
	for (int i = 0; i < 4; i++)
		turn(&x, &in);
	if (x.s.client_count == 1)
		dispatcher_end(&x.s.dispatcher, "the end");
	methods_end_jobs(&x.s);
	turn(&x, &in);
	close_scene(&x);
	buffer_done(&in);
	return 0;
}
