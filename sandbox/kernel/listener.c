#include "sandbox/kernel/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "base/resolve.h"
#include "policy/port_spec.h"

/* The most connections that wait to be accepted; the kernel bounds this number too
 * (net.core.somaxconn). */
#define BACKLOG 1024

/* The most microseconds that accept(2) sleeps if another process has cleared O_NONBLOCK
 * of the shared socket. */
#define NAP_US 5000

/* The file in a sandbox's registry folder that lists the sandbox's unix sockets, one
 * path a line. */
#define NOTES	  "sockets"
#define NOTES_MAX (1u << 20)

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un path;
};

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* --- TCP -------------------------------------------------------------------------- */

static socklen_t fill_in(const struct port_spec *p, uint16_t port, union address *ret)
{
	bool is_six = strchr(p->address, ':') != NULL;

	*ret = (union address){ 0 };
	if (is_six) {
		ret->six.sin6_family = AF_INET6;
		ret->six.sin6_port = htons(port);
		(void)inet_pton(AF_INET6, p->address,
				&ret->six.sin6_addr); /* cannot fail: the address was
						       * checked when it was parsed */
		return sizeof(ret->six);
	}
	ret->four.sin_family = AF_INET;
	ret->four.sin_port = htons(port);
	(void)inet_pton(AF_INET, p->address, &ret->four.sin_addr);
	return sizeof(ret->four);
}

/* Returns a listening socket, or -1 with errno set.  If another process binds a socket
 * to the same port with SO_REUSEADDR between our bind(2) and listen(2), listen(2) fails
 * with EADDRINUSE. */
static int listen_tcp(const struct port_spec *p, uint16_t port, bool is_named)
{
	const int yes = 1;
	union address address;
	socklen_t len = fill_in(p, port, &address);
	AUTO_CLOSE int fd = new_socket(address.any.sa_family);

	if (fd < 0)
		return -1;
	if (is_named)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (address.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, &address.any, len) < 0 || listen(fd, BACKLOG) < 0)
		return -1;
	return fd_take(&fd);
}

static char *tcp_name(const char *address, uint16_t port)
{
	return text_format(strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, port);
}

static int explain(const struct port_spec *p, uint16_t port, struct err *e)
{
	const int sys = errno;
	AUTO_FREE char *name = tcp_name(p->address, port);

	errno = sys;
	(void)err_sys(e, "listen at %s", name);
	(void)err_from(e, p->from);
	if (sys == EADDRINUSE)
		return err_remedy(
			e,
			"`ss -ltnp sport = :%u` shows the process; -p auto:%u takes a "
			"port that is free",
			port, p->guest);
	if (sys == EACCES)
		return err_remedy(e,
				  "ports below 1024 are root's: take one above, or lower "
				  "net.ipv4.ip_unprivileged_port_start");
	return -1;
}

/* Returns the offset in the port range at which the search for a free port begins.  The
 * offset is random, so that launches at the same time do not all begin with the same
 * port. */
static unsigned begin_in(unsigned count)
{
	unsigned number = 0;

	/* if getrandom(2) fails, the search begins with the first port */
	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	return number % count;
}

static int open_range(const struct port_spec *p, struct listener *ret, struct err *e)
{
	unsigned count = (unsigned)(p->high - p->low) + 1, first = begin_in(count);

	for (unsigned i = 0; i < count; i++) {
		uint16_t port = (uint16_t)(p->low + (first + i) % count);
		int fd = listen_tcp(p, port, false);
		if (fd < 0 && errno == EADDRINUSE)
			continue;
		if (fd < 0)
			return explain(p, port, e);
		*ret = (struct listener){ .fd = fd, .host = tcp_name(p->address, port) };
		return 0;
	}
	(void)err_set(e, ERR_LIMIT, "no port from %u to %u is free at %s", p->low,
		      p->high, p->address);
	(void)err_from(e, p->from);
	return err_remedy(e, "-p LOW-HIGH:%u names another range", p->guest);
}

static int open_named(const struct port_spec *p, struct listener *ret, struct err *e)
{
	int fd = listen_tcp(p, p->low, true);

	if (fd < 0)
		return explain(p, p->low, e);
	*ret = (struct listener){ .fd = fd, .host = tcp_name(p->address, p->low) };
	return 0;
}

/* --- unix ------------------------------------------------------------------------- */

static bool name_path(const char *path, union address *ret)
{
	*ret = (union address){ .path.sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->path.sun_path))
		return false;
	memcpy(ret->path.sun_path, path, strlen(path) + 1);
	return true;
}

void listener_remove(const char *path)
{
	union address address;
	struct stat st;

	if (!name_path(path, &address) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    st.st_uid != geteuid())
		return;
	AUTO_CLOSE int fd = new_socket(AF_UNIX);
	/* ECONNREFUSED: no process listens at the socket (unix(7)).  A socket of another
	 * type gives EPROTOTYPE, and is not removed. */
	if (fd >= 0 && connect(fd, &address.any, sizeof(address.path)) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(path);
}

void listener_remove_all(const struct list *paths)
{
	for (size_t i = 0; paths && i < paths->count; i++)
		listener_remove(paths->items[i]);
}

/* Tells whether the list of socket paths has this line.  The search ends at the first 0
 * byte: hutch writes none, so all behind it is not hutch's. */
static bool is_noted(const char *notes, const char *line)
{
	const char *at = notes;

	while ((at = strstr(at, line)) && at > notes && at[-1] != '\n')
		at++;
	return at != NULL;
}

/* Looks the line up in the list of socket paths.  *ret_size becomes the size of the list
 * with this line added; 0: the list has the line already. */
static int look_up(int fd, const char *line, size_t *ret_size, struct err *e)
{
	AUTO_FREE char *notes = NULL;
	size_t len;

	if (io_read_file(fd, NOTES, NOTES_MAX, &notes, &len, e) < 0)
		return -1;
	*ret_size = is_noted(notes, line) ? 0 : len + strlen(line);
	return 0;
}

int listener_note(int folder, const char *path, struct err *e)
{
	AUTO_FREE char *line = text_format("%s\n", path);
	size_t size = 0;

	if (strchr(path, '\n'))
		return err_set(e, ERR_USAGE,
			       "the path of a socket has no line end in it");
	AUTO_CLOSE int fd = openat(folder, NOTES,
				   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
				   0600);
	if (fd < 0)
		return err_sys(e, "note %s down", path);
	if (look_up(fd, line, &size, e) < 0)
		return -1;
	if (size > NOTES_MAX)
		return err_set(e, ERR_LIMIT,
			       "note %s down: all paths that this sandbox had "
			       "together are more than %u bytes",
			       path, NOTES_MAX);
	if (size > 0 && io_write_all(fd, line, strlen(line)) < 0)
		return err_sys(e, "note %s down", path);
	return 0;
}

void listener_remove_listed(int folder)
{
	AUTO_CLOSE int fd = regular_open(folder, NOTES, O_NOFOLLOW, NOTES, NULL);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, NOTES, NOTES_MAX, &text, &len, NULL) < 0)
		return;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (line[0] == '/')
			listener_remove(line);
}

/* Binds the socket to its path.  The socket file gets its mode from the umask, not from
 * a later chmod(2), so that no other user can connect even for a moment. */
static int bind_path(int fd, const union address *address)
{
	mode_t before = umask(0177);
	int got = bind(fd, &address->any, sizeof(address->path));

	(void)umask(before);
	return got;
}

static int explain_path(const struct port_spec *p, struct err *e)
{
	const int sys = errno;

	(void)err_sys(e, "listen at %s", p->path);
	(void)err_from(e, p->from);
	if (sys == EADDRINUSE)
		return err_remedy(
			e, "another file is there, or a process listens at it already; "
			   "name another path");
	if (sys == EACCES)
		return err_remedy(
			e,
			"it takes a folder that user %u may write to, as whom it is "
			"made",
			(unsigned)geteuid());
	return -1;
}

/* Returns a path for bind(2).  bind(2) takes no descriptor of a folder, so the path
 * leads through /proc/self/fd.  NULL with errno set: the folder cannot be opened, such
 * as when a link was put on the way to it after it was checked. */
static char *path_to_bind(const struct port_spec *p, int *ret_folder)
{
	if (!p->folder)
		return text_copy(p->path);
	*ret_folder = resolve_open_real(p->folder, O_PATH | O_DIRECTORY);
	return *ret_folder < 0 ? NULL : text_format("/proc/self/fd/%d%s", *ret_folder,
						    strrchr(p->path, '/'));
}

static int open_path(const struct port_spec *p, struct listener *ret, struct err *e)
{
	union address address;
	AUTO_CLOSE int fd = new_socket(AF_UNIX), folder = -1;
	AUTO_FREE char *path = path_to_bind(p, &folder);

	if (!path)
		return explain_path(p, e);
	if (!name_path(path, &address))
		return err_set(e, ERR_LIMIT, "the path %s is too long for a unix socket",
			       p->path);
	listener_remove(path);
	if (fd < 0 || bind_path(fd, &address) < 0 || listen(fd, BACKLOG) < 0)
		return explain_path(p, e);
	*ret = (struct listener){ .fd = fd_take(&fd), .host = text_copy(p->path) };
	return 0;
}

/* --- both ------------------------------------------------------------------------- */

int listener_open(const struct port_spec *p, struct listener *ret, struct err *e)
{
	if (p->path)
		return open_path(p, ret, e);
	return p->low == p->high ? open_named(p, ret, e) : open_range(p, ret, e);
}

static char *name_of(const union address *a)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_UNIX)
		return a->path.sun_path[0] ? text_copy(a->path.sun_path) : NULL;
	if (a->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &a->four.sin_addr, text,
				sizeof(text)); /* `text` has room for every address */
		return tcp_name(text, ntohs(a->four.sin_port));
	}
	if (a->any.sa_family != AF_INET6)
		return NULL;
	(void)inet_ntop(AF_INET6, &a->six.sin6_addr, text, sizeof(text));
	return tcp_name(text, ntohs(a->six.sin6_port));
}

static bool is_option(int fd, int option, int wanted)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

int listener_adopt(int fd, struct listener *ret, struct err *e)
{
	/* A path that fills sun_path is not terminated by a 0 (unix(7)); `end` is that 0
	 * here. */
	struct {
		union address address;
		char end;
	} name = { .end = 0 };
	socklen_t len = sizeof(name.address);
	int flags = fcntl(fd, F_GETFL);

	if (!is_option(fd, SO_TYPE, SOCK_STREAM) || !is_option(fd, SO_ACCEPTCONN, 1) ||
	    getsockname(fd, &name.address.any, &len) < 0)
		return err_set(e, ERR_USAGE,
			       "the descriptor is no stream socket that listens");
	char *host = name_of(&name.address);
	if (!host)
		return err_set(e, ERR_USAGE,
			       "the descriptor is no socket of TCP, and none with a "
			       "path");
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		free(host);
		return err_sys(e, "make the socket non-blocking");
	}
	*ret = (struct listener){ .fd = fd, .host = host, .is_shared = true };
	return 0;
}

static void on_alarm(int signo)
{
	(void)signo; /* the handler does nothing: SIGALRM is only to make accept(2)
		      * return */
}

void listener_expect_shared(void)
{
	/* without SA_RESTART, so that accept(2) returns EINTR */
	const struct sigaction action = { .sa_handler = on_alarm };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	(void)sigaction(SIGALRM, &action, NULL); /* cannot fail: the arguments are
						  * valid */
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Accepts a connection without blocking for long.  The process that made the socket
 * shares its open file description, and may clear O_NONBLOCK at any instant (open(2));
 * no flag of accept4(2) makes a single call non-blocking.  So a timer of this process,
 * which no other process can stop, interrupts accept(2).  The timer fires again and
 * again, since the first alarm may come before accept(2) sleeps. */
static int accept_shared(int fd)
{
	const struct timeval nap = { .tv_usec = NAP_US };
	const struct itimerval on = { .it_interval = nap, .it_value = nap };
	const struct itimerval off = { .it_value = { 0 } };

	/* without O_NONBLOCK, accept(2) sleeps up to NAP_US */
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void)setitimer(ITIMER_REAL, &on, NULL); /* cannot fail: the arguments are
						  * valid */
	int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const int sys = errno;
	(void)setitimer(ITIMER_REAL, &off, NULL);
	errno = sys;
	return got;
}

int listener_accept(const struct listener *l)
{
	return l->is_shared ? accept_shared(l->fd)
			    : accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void listener_done(struct listener *l)
{
	if (l->host)
		own_close(&l->fd);
	free(l->host);
	*l = (struct listener){ .fd = -1 };
}
