/* Reaching anything beyond the sandbox by a socket: an address of the host, the
 * internet, the host's loopback, its unix sockets.  The runner starts the
 * listeners, so each of these connects when tried outside. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* An address on the internet may never answer, and no event reports that.  No
 * other probe waits this long: a refusal and this host's listeners answer at once. */
#define GIVE_UP_MS 2000

/* Connects, but waits for at most GIVE_UP_MS; the error is then ETIMEDOUT. */
static int connect_soon(int fd, const struct sockaddr *address, socklen_t len)
{
	struct pollfd poll_one = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof(error);

	if (!connect(fd, address, len))
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&poll_one, 1, GIVE_UP_MS) < 1) {
		errno = ETIMEDOUT;
		return -1;
	}
	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size); /* fd is good */
	errno = error;
	return error ? -1 : 0;
}

static void net_result(struct trial *t, int ret)
{
	int error = errno;

	switch (ret < 0 ? error : 0) {
	case 0:
		trial_says(t, "allowed", "%s", "");
		return;
	case ENOENT:
	case ENOTDIR:
		trial_says(t, "absent", "%s", "");
		return;
	default:
		trial_error(t, error == ETIMEDOUT ? "slow" : "refused", error);
	}
}

static void try_connect(struct trial *t, const struct sockaddr *address,
			socklen_t len)
{
	AUTO_CLOSE int fd = socket(address->sa_family,
				   (int)t->probe->value | SOCK_NONBLOCK,
				   (int)t->probe->value2);

	/* A datagram socket must also send: its connect(2) only looks up a route. */
	int ret = fd < 0 ? -1 : connect_soon(fd, address, len);
	if (!ret && (t->probe->value & 0xf) == SOCK_DGRAM)
		ret = send(fd, "probe", 5, 0) < 0 ? -1 : 0;
	net_result(t, ret);
}

static void try_address(struct trial *t, const char *text)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)t->set->tcp),
	};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)t->set->tcp),
	};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		try_connect(t, (struct sockaddr *)&v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		try_connect(t, (struct sockaddr *)&v6, sizeof(v6));
	else
		trial_says(t, "skip:no-address", "'%s'", text);
}

static void to_text(struct trial *t)
{
	try_address(t, t->probe->text);
}

static void to_host(struct trial *t)
{
	try_address(t, t->set->address);
}

static void to_host6(struct trial *t)
{
	try_address(t, t->set->address6);
}

/* An echo request, by a datagram "ping" socket (if net.ipv4.ping_group_range
 * permits it) or by a raw one (if the probe is root). */
static void ping_host(struct trial *t)
{
	static const unsigned char echo[8] = { 8 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);

	if (fd < 0)
		fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (inet_pton(AF_INET, t->set->address, &v4.sin_addr) != 1) {
		trial_says(t, "skip:no-address", "'%s'", t->set->address);
		return;
	}
	ssize_t sent = fd < 0 ? -1 : sendto(fd, echo, sizeof(echo), 0,
					    (struct sockaddr *)&v4, sizeof(v4));
	net_result(t, sent < 0 ? -1 : 0);
}

/* `name` is a path, or for an abstract name the bytes after its NUL.  Returns
 * the length of the address, or 0 if it is too long. */
static socklen_t name_unix(struct sockaddr_un *un, const char *name, bool is_abstract)
{
	size_t len = strlen(name);

	if (len > sizeof(un->sun_path) - 2)
		return 0;
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(un->sun_path + is_abstract, name, len);
	return (socklen_t)(len + offsetof(struct sockaddr_un, sun_path) + 1);
}

static void try_unix(struct trial *t, const char *name, bool is_abstract)
{
	struct sockaddr_un un;
	socklen_t len = name_unix(&un, name, is_abstract);

	if (len)
		try_connect(t, (struct sockaddr *)&un, len);
	else
		trial_says(t, "skip:long-name", "%zu bytes", strlen(name));
}

static void to_abstract(struct trial *t)
{
	try_unix(t, t->set->abstract, true);
}

static void to_path(struct trial *t)
{
	try_unix(t, t->set->socket, false);
}

/* The sockets by which hosts are usually taken over.  The first that answers
 * with any error but "absent" is the result. */
static void to_known(struct trial *t)
{
	static const char *const paths[] = {
		"/run/docker.sock", "/var/run/docker.sock",
		"/run/containerd/containerd.sock", "/run/podman/podman.sock",
		"/run/crio/crio.sock", "/run/dbus/system_bus_socket",
		"/run/systemd/private", "/run/systemd/journal/socket",
		"/run/user/1000/bus", "/run/user/1000/wayland-0",
		"/run/user/1000/docker.sock", "/run/user/1000/pipewire-0",
		"/run/user/1000/gnupg/S.gpg-agent", "/run/user/0/bus",
		"/tmp/.X11-unix/X0", "/run/snapd.socket", "/run/nscd/socket",
		"/var/run/nscd/socket", "/dev/log",
	};

	trial_says(t, "absent", "none of %zu", ARRAY_LEN(paths));
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		try_unix(t, paths[i], false);
		if (strcmp(t->result, "absent")) {
			trial_note(t, "%s", paths[i]);
			return;
		}
	}
}

/* Returns one of a pair of datagram sockets, which can send to any name; one of
 * SOCK_RAW can, too.  Uses the raw call: the kernel takes the low half of the
 * type. */
static int one_of_pair(const struct trial *t)
{
	int pair[2];

	return syscall(SYS_socketpair, AF_UNIX, t->probe->value, 0, pair) ? -1 : pair[0];
}

/* Sends a byte to the host's datagram socket, with the descriptor `with` unless
 * that is -1. */
static int send_to_host(const struct trial *t, int sock, int with)
{
	const bool is_abstract = t->probe->value2;
	struct path name;
	struct sockaddr_un un;

	snprintf(name.s, sizeof(name.s), "%.400s" PROBE_DATAGRAM,
		 is_abstract ? t->set->abstract : t->set->socket);
	socklen_t len = name_unix(&un, name.s, is_abstract);
	if (with < 0)
		return sendto(sock, "x", 1, 0, (struct sockaddr *)&un, len) < 0 ? -1 : 0;
	/* Connects first: socket_send_fd() takes no address.  The socket stays
	 * connected. */
	return connect(sock, (struct sockaddr *)&un, len) ? -1
							  : socket_send_fd(sock, with);
}

static void pair_to_host(struct trial *t)
{
	AUTO_CLOSE int sock = one_of_pair(t);

	net_result(t, sock < 0 ? -1 : send_to_host(t, sock, -1));
}

static void pair_gives_rights(struct trial *t)
{
	AUTO_CLOSE int sock = one_of_pair(t);

	net_result(t, sock < 0 ? -1 : send_to_host(t, sock, 0));
}

/* The listener answers with a descriptor of its own.  The kernel allows that
 * once our socket has no other peer and has a name, which the kernel chooses
 * (unix(7), autobind). */
static void pair_takes_rights(struct trial *t)
{
	static const struct sockaddr no_peer = { .sa_family = AF_UNSPEC };
	static const struct sockaddr no_name = { .sa_family = AF_UNIX };
	AUTO_CLOSE int sock = one_of_pair(t);
	struct pollfd answer = { .fd = sock, .events = POLLIN };

	if (sock < 0 || connect(sock, &no_peer, sizeof(no_peer)) ||
	    bind(sock, &no_name, sizeof(no_name.sa_family)) ||
	    send_to_host(t, sock, -1)) {
		net_result(t, -1);
		return;
	}
	errno = ETIMEDOUT;
	AUTO_CLOSE int taken = poll(&answer, 1, GIVE_UP_MS) < 1 ? -1
								: socket_take_fd(sock);
	net_result(t, taken < 0 ? -1 : 0);
}

/* Takes a name that a service of the host may want: the first process to bind a
 * name has it. */
static void pair_takes_name(struct trial *t)
{
	struct path name;
	struct sockaddr_un un;

	snprintf(name.s, sizeof(name.s), "%.400s-taken", t->set->abstract);
	socklen_t len = name_unix(&un, name.s, true);
	AUTO_CLOSE int sock = one_of_pair(t);
	net_result(t, sock < 0 ? -1 : bind(sock, (struct sockaddr *)&un, len));
}

#define TCP SOCK_STREAM
#define UDP SOCK_DGRAM

const struct probe net_probes[] = {
	{ "D59", "tcp-host-address", .run = to_host, .value = TCP },
	{ "D59", "tcp-host-address6", .run = to_host6, .value = TCP },
	{ "D59", "udp-host-address", .run = to_host, .value = UDP },
	{ "D59", "udp-host-address6", .run = to_host6, .value = UDP },
	{ "D59", "icmp-host-address", .run = ping_host },
	{ "D59", "tcp-world", .run = to_text, .text = "198.51.100.1", .value = TCP },
	{ "D59", "tcp-world6", .run = to_text, .text = "2001:db8::1", .value = TCP },
	{ "D59", "udp-world", .run = to_text, .text = "198.51.100.1", .value = UDP },
	{ "D59", "tcp-metadata", .run = to_text, .text = "169.254.169.254",
	  .value = TCP },
	{ "D60", "tcp-loopback", .run = to_text, .text = "127.0.0.1", .value = TCP },
	{ "D60", "tcp-loopback6", .run = to_text, .text = "::1", .value = TCP },
	{ "D60", "tcp-any", .run = to_text, .text = "0.0.0.0", .value = TCP },
	{ "D60", "tcp-mapped", .run = to_text, .text = "::ffff:127.0.0.1", .value = TCP },
	{ "D61", "abstract-stream", .run = to_abstract, .value = SOCK_STREAM },
	{ "D61", "path-stream", .run = to_path, .value = SOCK_STREAM },
	{ "D61", "known-sockets", .run = to_known, .value = SOCK_STREAM },
	{ "D61", "pair-path", .run = pair_to_host, .value = SOCK_DGRAM },
	{ "D61", "pair-path-wide", .run = pair_to_host, .value = SOCK_DGRAM | 1L << 32 },
	{ "D61", "pair-path-raw", .run = pair_to_host, .value = SOCK_RAW },
	{ "D61", "pair-abstract", .run = pair_to_host, .value = SOCK_DGRAM,
	  .value2 = true },
	{ "D61", "pair-gives-rights", .run = pair_gives_rights, .value = SOCK_DGRAM },
	{ "D61", "pair-takes-rights", .run = pair_takes_rights, .value = SOCK_DGRAM },
	{ "D61", "pair-takes-name", .run = pair_takes_name, .value = SOCK_STREAM },
	{ 0 },
};
