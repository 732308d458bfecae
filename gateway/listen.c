#include "gateway/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Splits ADDRESS:PORT, and reads both. */
static int parse(const char *text, union address *ret, socklen_t *ret_len, struct err *e)
{
	AUTO_FREE char *host = text_copy(text);
	char *colon = strrchr(host, ':'), *end = NULL;
	const unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

	*ret = (union address){ 0 };
	if (!colon || !isdigit((unsigned char)colon[1]) || *end)
		return err_set(e, ERR_USAGE, "'%.200s': ADDRESS:PORT was expected", text);
	if (port > 65535)
		return err_set(e, ERR_USAGE, "'%.200s': a port is a number up to 65535",
			       text);
	*colon = '\0';
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v4);
		return 0;
	}
	const size_t len = strlen(host);
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1) {
			ret->v6.sin6_family = AF_INET6;
			ret->v6.sin6_port = htons((uint16_t)port);
			*ret_len = sizeof(ret->v6);
			return 0;
		}
	}
	return err_set(
		e, ERR_USAGE,
		"'%.200s': the address must be a number, such as 127.0.0.1 or [::1]",
		text);
}

static char *name_of(int fd)
{
	union address a;
	socklen_t len = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(fd, &a.any, &len) < 0)
		return NULL;
	if (a.any.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof(host));
		return text_format("[%s]:%u", host, ntohs(a.v6.sin6_port));
	}
	(void)inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host));
	return text_format("%s:%u", host, ntohs(a.v4.sin_port));
}

int listen_tcp(const char *flag, const char *text, char **ret_name, struct err *e)
{
	const int on = 1;
	union address a;
	socklen_t len = 0;

	if (parse(text, &a, &len, e) < 0)
		return err_in(e, "%s", flag);
	AUTO_CLOSE int fd =
		socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return err_sys(e, "%s %s", flag, text);
	if (bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0) {
		const bool is_taken = errno == EADDRINUSE;

		(void)err_sys(e, "listen on %s", text);
		return is_taken ? err_remedy(e, "%s 127.0.0.1:0 takes a free port", flag)
				: -1;
	}
	*ret_name = name_of(fd);
	return *ret_name ? fd_take(&fd) : err_sys(e, "listen on %s", text);
}

/* Removes a socket that a server left behind, and nothing else. */
static int clear(const struct sockaddr_un *a, struct err *e)
{
	struct stat st;

	if (lstat(a->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_EXISTS, "--socket %s: a file is there already",
			       a->sun_path);
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN)
		return err_set(e, ERR_BUSY,
			       "--socket %s: a process listens there already",
			       a->sun_path);
	return unlink(a->sun_path) < 0
		       ? err_sys(e, "remove the old socket %s", a->sun_path)
		       : 0;
}

int listen_unix(const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, ERR_USAGE, "--socket: a path of at most %zu bytes",
			       sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (clear(&a, e) < 0)
		return -1;
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, "--socket %s", path);
	const mode_t before = umask(0177); /* so that it is never open to others */
	const int rc = bind(fd, (const struct sockaddr *)&a, sizeof(a));
	(void)umask(before);
	if (rc < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "--socket %s", path);
	return fd_take(&fd);
}
