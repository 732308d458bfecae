/* serve_front: stands in the place of the front of hutch-serve, as if it had been taken over.
 *
 *	serve_front HUTCH NAME [OPTION...]
 *		is the spawner of a server with this name, with options of `hutch create`.  Its
 *		front sends each line of stdin as a packet, with a descriptor beside it where the
 *		line begins with "+", or an empty file where it begins with "=", and prints the
 *		answer, which has "+" before it where a descriptor came.  The line "flood" stands
 *		for packets until neither end takes any more, without reading, and their number
 *		is printed; "drain" reads so many answers, and prints the last.
 *	serve_front confined
 *		gives up what the front gives up, and prints the names of what it can do then */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "gateway/serve.h"
#include "gateway/serve_confine.h"
#include "gateway/spawner.h"

#define PACKET_MAX (1u << 20)
#define FULL_MS	   100 /* without room: both ends' buffers are full */

/* --- what a front can do ------------------------------------------------------ */

/* Each try is at the parent, which is another process of the same user. */
static long try(const char *what, pid_t parent, int own)
{
	static const struct rlimit none = { 0, 0 };
	char name[] = "true", *const argv[] = { name, NULL };
	char key = '\n';

	if (!strcmp(what, "signal"))
		return syscall(SYS_tgkill, parent, parent, 0);
	if (!strcmp(what, "signal a thread"))
		return syscall(SYS_tkill, parent, 0);
	if (!strcmp(what, "kill"))
		return kill(parent, 0);
	if (!strcmp(what, "limit"))
		return prlimit(parent, RLIMIT_CORE, &none, NULL);
	if (!strcmp(what, "own a descriptor's signals"))
		return fcntl(own, F_SETOWN, parent);
	if (!strcmp(what, "type on the terminal"))
		return ioctl(own, TIOCSTI, &key) == 0 || errno == ENOTTY ? 0 : -1;
	if (!strcmp(what, "open"))
		return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (!strcmp(what, "make a socket"))
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!strcmp(what, "make a process"))
		return syscall(SYS_fork);
	return execv("/bin/true", argv);
}

static int show_confined(pid_t parent)
{
	static const char *const all[] = { "signal",
					   "signal a thread",
					   "kill",
					   "limit",
					   "own a descriptor's signals",
					   "type on the terminal",
					   "open",
					   "make a socket",
					   "make a process",
					   "execute" };
	int pair[2];
	struct err e;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    serve_confine(pair, 2, &e) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (try(all[i], parent, pair[0]) >= 0)
			dprintf(1, "%s\n", all[i]);
	return 0;
}

/* --- a front's packets -------------------------------------------------------- */

static void take_answer(int link, char *packet)
{
	struct iovec part = { packet, PACKET_MAX };
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(link, &m, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int fd;

	if (n <= 0) {
		printf("the spawner has ended\n");
		exit(0);
	}
	printf("%s%.*s\n", c ? "+" : "", (int)n, packet);
	(void)fflush(stdout);
	if (c) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		(void)close(fd);
	}
}

/* The front of a flood reads nothing, so that the spawner cannot answer in the end. */
static long flood(int link)
{
	static const char packet[] = "{\"id\":1,\"do\":\"nothing\"}";
	struct pollfd room = { .fd = link, .events = POLLOUT };
	long count = 0;

	while (poll(&room, 1, FULL_MS) == 1)
		if (send(link, packet, strlen(packet), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			count++;
	printf("%ld\n", count);
	(void)fflush(stdout);
	return count;
}

static int front(int link, pid_t parent)
{
	long flooded = 0;
	char *line = NULL, *packet = malloc(PACKET_MAX);
	const int stdin_fd = 0, file = memfd_create("empty", MFD_CLOEXEC);
	size_t room = 0;
	ssize_t len;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!packet || getppid() != parent)
		return 1;
	while ((len = getline(&line, &room, stdin)) > 0) {
		const bool has_file = line[0] == '=';
		const size_t from = line[0] == '+' || has_file;

		if (!strcmp(line, "flood\n")) {
			flooded = flood(link);
			continue;
		}
		if (!strcmp(line, "drain\n")) {
			while (--flooded > 0)
				(void)recv(link, packet, PACKET_MAX, 0);
			take_answer(link, packet);
			continue;
		}
		if (fd_pass_send(link, line + from, (size_t)len - from - 1,
				 has_file ? &file : &stdin_fd, from) < 0)
			printf("not sent: %s\n", strerror(errno));
		take_answer(link, packet);
	}
	return 0;
}

static int spawner(struct serve *s, int link)
{
	sigset_t term;
	struct err e;

	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, NULL);
	const int signals = signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals < 0 || spawner_run(s, link, signals, &e) < 0;
}

int main(int argc, char **argv)
{
	const bool is_confined = argc == 2 && !strcmp(argv[1], "confined");
	struct serve s = { .hutch = argv[1], .name = argv[2] };
	const pid_t parent = getpid();
	int link[2], status;

	if ((!is_confined && argc < 3) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
		return 2;
	for (int i = 3; i < argc; i++)
		list_add(&s.options, argv[i]);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(is_confined ? show_confined(parent) : front(link[0], parent));
	(void)close(link[0]);
	if (!is_confined)
		return pid < 0 || spawner(&s, link[1]);
	return waitpid(pid, &status, 0) < 0 || status != 0;
}
