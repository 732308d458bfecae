/* Uses up a resource inside a sandbox: hog WHAT [MIB | N] or hog spin THREADS
 * [MS]
 *
 * The memory hogs never stop by themselves: the limit ends them. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1u << 20)

/* Whether `done` reached `mib` MiB.  If `mib` is 0, never: the hog takes all there
 * is. */
static int is_enough(long done, long mib)
{
	return mib && done >= mib;
}

/* Touches all pages by one call (since Linux 5.14): in user-mode-linux a page
 * fault costs many times the page. */
static void use(void *pages, size_t len)
{
	if (madvise(pages, len, MADV_POPULATE_WRITE) < 0)
		memset(pages, 1, len);
}

static int heap(long mib)
{
	for (long i = 0; !is_enough(i, mib); i++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return 1;
		use(p, MIB);
	}
	return 0;
}

static int fill(int fd, long mib)
{
	static char chunk[65536];

	for (long i = 0; !is_enough(i / 16, mib); i++)
		if (write(fd, chunk, sizeof(chunk)) < 0)
			return errno;
	return 0;
}

/* Prints how the writing ended: a full tmpfs gives an errno, not a signal. */
static int file(const char *path, long mib)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600), sys;

	if (fd < 0)
		return 1;
	sys = fill(fd, mib);
	(void)printf("%s\n", sys ? strerror(sys) : "full");
	return 0;
}

static int memfd(long mib)
{
	return fill(memfd_create("hog", 0), mib);
}

static int shm(long mib)
{
	for (long i = 0; !is_enough(i * 8, mib); i++) {
		int id = shmget(IPC_PRIVATE, 8 * MIB, IPC_CREAT | 0600);
		char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
		if (at == (char *)-1)
			return 1;
		use(at, 8 * MIB);
		(void)shmdt(at);
		(void)shmctl(id, IPC_SET, &(struct shmid_ds){ .shm_perm.mode = 0,
			.shm_perm.uid = getuid(), .shm_perm.gid = getgid() });
	}
	return 0;
}

static int tcp_pair(int ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || ends[1] < 0 || bind(listener, (void *)&at, len) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (void *)&at, &len) < 0 ||
	    connect(ends[1], (void *)&at, len) < 0)
		return -1;
	ends[0] = accept(listener, NULL, NULL);
	(void)close(listener);
	return ends[0] < 0 ? -1 : 0;
}

static int unix_pair(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

/* Fills each pair's buffers until descriptors run out, then goes on in a child. */
static int buffers(int (*make)(int ends[2]), long mib)
{
	static char page[4096];
	long pages = 0;

	for (;;) {
		int ends[2];
		if (make(ends) < 0) {
			pid_t pid = errno == EMFILE ? fork() : -1;
			if (pid < 0)
				return errno;
			if (pid > 0)
				return waitpid(pid, NULL, 0) < 0;
			for (int fd = 3; fd < 1 << 16; fd++)
				(void)close(fd); /* the parent keeps the full buffers */
			continue;
		}
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
		while (write(ends[1], page, sizeof(page)) > 0)
			if (is_enough(++pages / 256, mib))
				return 0;
	}
}

/* Uses memory for open files that have no descriptor: each mapping keeps its file
 * open.  Makes as many mappings as a process may have, then goes on in a child that
 * replaces its copies of the parent's mappings. */
static int maps(void)
{
	enum { MAPS = 60000, PAGE = 4096 };
	char *at = mmap(NULL, (size_t)MAPS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	for (long i = 0;; i++) {
		int fd = open("/proc/self/exe", O_RDONLY);
		if (at == MAP_FAILED || fd < 0)
			return errno;
		void *map = mmap(at + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
				 fd, 0);
		(void)close(fd);
		if (map == MAP_FAILED)
			return errno;
		if (i < MAPS - 1)
			continue;
		pid_t pid = fork();
		if (pid != 0)
			return pid < 0 ? errno : waitpid(pid, NULL, 0) < 0;
		i = -1;
	}
}

/* Fills queues of System V. */
static int queues(void)
{
	static struct {
		long type;
		char text[8192];
	} message = { .type = 1 };

	for (;;) {
		int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
		if (id < 0)
			return errno;
		while (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) == 0)
			;
	}
}

/* Fills queues of POSIX, which survive this process.  Prints how many there
 * were, why there were no more, and how many KiB are in them. */
static int posix_queues(void)
{
	static char message[8192];
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = sizeof(message) };
	long count = 0, sent = 0;
	char name[32];
	mqd_t queue;

	for (;; count++) {
		(void)snprintf(name, sizeof(name), "/hog-%d-%ld", (int)getpid(), count);
		queue = mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attr);
		if (queue < 0)
			break;
		while (mq_send(queue, message, sizeof(message), 0) == 0)
			sent++;
	}
	(void)printf("%ld %s %ld KiB\n", count, strerror(errno),
		     sent * (long)sizeof(message) / 1024);
	return 0;
}

static void *forever(void *arg)
{
	for (volatile unsigned long n = 0;; n++)
		;
	return arg;
}

/* Spins that many threads until they have used that many ms of processor time;
 * 0: for ever. */
static int spin(long threads, long ms)
{
	struct timespec cpu = { 0 };
	pthread_t id;

	for (long i = 0; i < threads; i++)
		if (pthread_create(&id, NULL, forever, NULL))
			return 1;
	while (ms == 0 || (long)cpu.tv_sec * 1000 + cpu.tv_nsec / 1000000 < ms)
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return 0;
}

/* Forks until fork(2) fails; prints the number of children and the reason. */
static int fork_all(long max)
{
	long count = 0;

	for (; count < max; count++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
	(void)printf("%ld %s\n", count, count < max ? strerror(errno) : "no end");
	return 0;
}

/* A fork bomb: every process forks until it is killed. */
__attribute__((noreturn)) static void bomb(void)
{
	for (;;)
		(void)!fork();
}

static int files(const char *folder, long max)
{
	char path[256];
	long i;

	for (i = 0; i < max; i++) {
		(void)snprintf(path, sizeof(path), "%s/%ld", folder, i);
		int fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			break;
		(void)close(fd);
	}
	(void)printf("%ld %s\n", i, i < max ? strerror(errno) : "no end");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[argc - 1]) : 0;

	if (!strcmp(what, "heap"))
		return heap(n);
	if (!strcmp(what, "file") && argc > 2)
		return file(argv[2], argc > 3 ? n : 0);
	if (!strcmp(what, "files") && argc > 3)
		return files(argv[2], n);
	if (!strcmp(what, "memfd"))
		return memfd(n);
	if (!strcmp(what, "shm"))
		return shm(n);
	if (!strcmp(what, "pipes"))
		return buffers(pipe, n);
	if (!strcmp(what, "sockets"))
		return buffers(unix_pair, n);
	if (!strcmp(what, "tcp"))
		return buffers(tcp_pair, n);
	if (!strcmp(what, "maps"))
		return maps();
	if (!strcmp(what, "queues"))
		return queues();
	if (!strcmp(what, "posix-queues"))
		return posix_queues();
	if (!strcmp(what, "spin"))
		return spin(argc > 2 ? atol(argv[2]) : 0, argc > 3 ? n : 0);
	if (!strcmp(what, "forks"))
		return fork_all(n ? n : 100000);
	if (!strcmp(what, "bomb"))
		bomb();
	return 2;
}
