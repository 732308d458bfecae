#include "sandbox/launch/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/peer_frames.h"
#include "policy/json/json.h"
#include "policy/policy.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/launch/launch.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/state_dir.h"

static const struct sock_filter peers_program[] = {
#include "gen/seccomp_peers.h"
};

#define BACKLOG		16
#define CONNECT_SECONDS 2 /* on the loopback a connection is there at once */
#define ANSWERS_MAX	4096

struct task {
	int socket; /* to hutch-egress */
	const struct list *joins;
	/* this sandbox's name, as far as it is known here, and its id; "": it has none */
	char from[REGISTRY_NAME_MAX + 1], id[REGISTRY_ID_LEN + 1];
};

static bool has_text(const struct json_at *list, const char *text)
{
	struct json_at item = { 0 };
	const char *value;

	while (json_step(list, &item))
		if (json_string(&item, &value, NULL) == 0 && !strcmp(value, text))
			return true;
	return false;
}

/* Returns whether the registry knows a live sandbox of that name in that network. */
static bool is_member(const struct sandbox_name *name)
{
	struct registry_item item;
	struct json_at root, network, joins;
	struct err e;
	bool result = false;

	if (registry_look(name->sandbox, &item, NULL) < 0)
		return false;
	AUTO_JSON struct json *info =
		item.info ? json_parse(item.info, strlen(item.info), &e) : NULL;
	if (info) {
		json_root(info, "info", &root);
		result = json_member(&root, "network", &network) &&
			 json_member(&network, "joins", &joins) &&
			 has_text(&joins, name->network);
	}
	registry_item_done(&item);
	return result;
}

/* Makes t->from the name that this sandbox has now: it may have got another one
 * (supervisor_rename()), and another sandbox this one's. */
static void update_name(struct task *t)
{
	struct registry_item item;

	if (!*t->id)
		return;
	bool is_ours = false;
	if (registry_look(t->from, &item, NULL) == 0) {
		is_ours = !strcmp(item.id, t->id);
		registry_item_done(&item);
	}
	if (!is_ours && registry_name_of(t->id, t->from) < 0)
		*t->from = '\0';
}

/* Has each call on the socket wait at most CONNECT_SECONDS. */
static bool limit_waiting(int fd)
{
	const struct timeval time = { .tv_sec = CONNECT_SECONDS };

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0;
}

/* Reads the answers to two requests, and returns whether the second one was met.  They are
 * read before the connection is closed, since a supervisor drops what is left of a client
 * that has gone with an answer unread. */
static bool is_accepted(int control)
{
	char said[ANSWERS_MAX];
	size_t len = 0;
	const char *second = NULL;

	while (!second || !memchr(second, '\n', len - (size_t)(second - said))) {
		ssize_t n = recv(control, said + len, sizeof(said) - 1 - len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		len += (size_t)n;
		said[len] = '\0';
		second = strchr(said, '\n');
		second = second ? second + 1 : NULL;
	}
	return strstr(second, "\"result\"");
}

/* Asks the supervisor of the sandbox to connect the socket to a port inside. */
static bool pass_on(struct task *t, const struct peer_request *r, int theirs)
{
	update_name(t);
	AUTO_FREE char *lines =
		text_format("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"net.connect\","
			    "\"params\":{\"network\":\"%s\",\"port\":%u%s%s%s}}\n",
			    r->name.network, r->port, *t->from ? ",\"from\":\"" : "",
			    t->from, *t->from ? "\"" : "");
	AUTO_CLOSE int control = registry_connect(r->name.sandbox, NULL);

	return control >= 0 && limit_waiting(control) &&
	       fd_pass_send(control, lines, strlen(lines), &theirs, 1) ==
		       (ssize_t)strlen(lines) &&
	       is_accepted(control);
}

/* --- a pair of TCP sockets ----------------------------------------------------------- */

/* A pair of unix sockets knows no reset: the end of a sandbox in the middle of a reply
 * would look like the reply's end.  So the two sockets are TCP, over the loopback of the
 * host. */

static bool has_name(int fd, const struct sockaddr_in *wanted)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
	       peer.sin_port == wanted->sin_port &&
	       peer.sin_addr.s_addr == wanted->sin_addr.s_addr;
}

/* Accepts the connection whose other end has this address: any process of the host could
 * have connected, too. */
static int accept_from(int listener, const struct sockaddr_in *wanted)
{
	for (int i = 0; i < BACKLOG + 1; i++) {
		AUTO_CLOSE int fd =
			accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0 && has_name(fd, wanted))
			return fd_take(&fd);
	}
	return -1;
}

static int make_socket(void)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || !limit_waiting(fd) ? -1 : fd_take(&fd);
}

/* Connects *ret_ours, which does not block, to *ret_theirs, which does not either and is
 * reset by close(2). */
static bool make_pair(int *ret_ours, int *ret_theirs)
{
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *any = (struct sockaddr *)&at;
	socklen_t len = sizeof(at);
	AUTO_CLOSE int listener = make_socket();
	AUTO_CLOSE int ours = make_socket();

	if (listener < 0 || ours < 0 || bind(listener, any, len) < 0 ||
	    listen(listener, BACKLOG) < 0 || getsockname(listener, any, &len) < 0 ||
	    connect(ours, any, len) < 0 || getsockname(ours, any, &len) < 0 ||
	    fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return false;
	AUTO_CLOSE int theirs = accept_from(listener, &at);
	if (theirs < 0 ||
	    setsockopt(theirs, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		return false;
	*ret_ours = fd_take(&ours);
	*ret_theirs = fd_take(&theirs);
	return true;
}

/* --- requests ------------------------------------------------------------------------ */

static bool connect_to(struct task *t, const struct peer_request *r, int *ret)
{
	int pair[] = { -1, -1 };

	bool is_made = make_pair(&pair[0], &pair[1]);
	AUTO_CLOSE int ours = pair[0];
	AUTO_CLOSE int theirs = pair[1];
	if (!is_made || !pass_on(t, r, theirs))
		return false;
	*ret = fd_take(&ours);
	return true;
}

/* Returns whether a request is one that hutch-egress may make.  It speaks with the
 * network, and so is not trusted. */
static bool is_valid(const struct task *t, const struct peer_request *r)
{
	return r->port <= UINT16_MAX &&
	       memchr(r->name.sandbox, 0, sizeof(r->name.sandbox)) &&
	       memchr(r->name.network, 0, sizeof(r->name.network)) &&
	       sandbox_name_is_reachable(r->name.sandbox) &&
	       list_has(t->joins, r->name.network); /* layer: peers-network */
}

static void answer(struct task *t, const struct peer_request *r)
{
	struct peer_reply reply = { .ticket = r->ticket };
	int connected = -1;

	reply.has_found = is_valid(t, r) && is_member(&r->name) &&
			  (r->port == 0 || connect_to(t, r, &connected));
	AUTO_CLOSE int fd = connected;
	(void)fd_pass_send(t->socket, &reply, sizeof(reply), &fd, fd >= 0); /* on failure
		the connection waits in hutch-egress until its time is over */
}

/* Takes away what this process does not need: it reads the registry, and makes sockets. */
static int enter(struct err *e)
{
	const struct seccomp_program program = { .insns = peers_program,
						 .count = ARRAY_LEN(peers_program) };
	AUTO_CLOSE int state = state_dir_state(true, e);
	const struct landlock_rule rule = { state,
					    LANDLOCK_READ_FILE | LANDLOCK_READ_DIR };

	if (state < 0 || caps_drop(e) < 0)
		return -1;
	/* Its memory is a copy of the launcher's, in which secrets may be. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl");
	if (landlock_abi() > 0 && landlock_confine(&rule, 1, LANDLOCK_SPARES_TCP, e) < 0)
		return -1;
	return seccomp_install(&program, e); /* layer: peers-seccomp */
}

static int confine(void *arg, struct err *e)
{
	(void)arg;
	(void)prctl(PR_SET_NAME, "hutch-peers");
	return enter(e) < 0 ? err_in(e, "confine hutch-peers") : 0;
}

static int work(void *arg, void *result, struct err *e)
{
	struct task *t = arg;
	struct peer_request r;

	(void)result;
	(void)e;
	for (;;) {
		ssize_t n = recv(t->socket, &r, sizeof(r), 0);
		if (n == (ssize_t)sizeof(r))
			answer(t, &r);
		else if (n >= 0 || errno != EINTR)
			return 0;
	}
}

int peers_start(struct launch *l, struct err *e)
{
	int pair[2];

	if (!l->policy->joins.count)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a pair of sockets");
	AUTO_CLOSE int theirs = pair[0];
	l->egress.peers = pair[1];
	struct task task = { .socket = theirs, .joins = &l->policy->joins };
	if (l->entry) {
		memcpy(task.from, l->entry->name, sizeof(task.from));
		memcpy(task.id, l->entry->id, sizeof(task.id));
	}
	const struct worker_task child = { .name = "the process that connects sandboxes",
					   .work = work,
					   .setup = confine,
					   .arg = &task,
					   .fds = { theirs },
					   .fd_count = 1 };
	return worker_start(&child, &l->peers, e) < 0 ? -1
						      : worker_await_setup(&l->peers, e);
}
