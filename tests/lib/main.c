#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/lib/trial.h"

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -1; /* -1, since the folder's own descriptor does not count */

	check(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

int trial_lasting(void)
{
	int count = 0;

	for (int fd = 0; fd < 200; fd++)
		count += fcntl(fd, F_GETFD) == 0;
	return count;
}

struct rlimit trial_use_up_descriptors(void)
{
	const int next = dup(0);
	struct rlimit old, few;

	check(next >= 0 && getrlimit(RLIMIT_NOFILE, &old) == 0);
	close(next);
	few = (struct rlimit){ (rlim_t)next, old.rlim_max };
	check(setrlimit(RLIMIT_NOFILE, &few) == 0);
	return old;
}

/* Returns the signals that are blocked or do not have their default disposition. */
static sigset_t signals_now(void)
{
	struct sigaction now;
	sigset_t other;

	/* The kernel's sigset_t is shorter and leaves the rest as it was. */
	memset(&other, 0, sizeof(other));
	sigprocmask(SIG_SETMASK, NULL, &other);
	for (int signo = 1; signo < 32; signo++)
		if (sigaction(signo, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
			sigaddset(&other, signo);
	return other;
}

static void run_one(const struct trial *t)
{
	const sigset_t before = signals_now();
	const int fds = count_fds();

	t->run();
	const sigset_t after = signals_now();
	check(memcmp(&before, &after, sizeof(before)) == 0);
	check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	const int left = count_fds();
	if (left != fds)
		fprintf(stderr, "%s: %d descriptors before, %d after\n", t->name, fds,
			left);
	check(left == fds);
}

int main(int argc, char **argv)
{
	const struct trial *const all[] = { trials_use, trials_trouble, trials_hostile,
					    trials_memory, trials_pool };

	if (argc > 2 && (!strcmp(argv[1], "connect") || !strcmp(argv[1], "create")))
		return trial_impostor(argv);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct trial *t = all[i]; t->name; t++) {
			if (argc < 2)
				puts(t->name);
			else if (!strcmp(t->name, argv[1]))
				return run_one(t), 0;
		}
	return argc < 2 ? 0 : 2;
}

/* --- what cases share ------------------------------------------------------ */

const char *trial_program(void)
{
	const char *program = getenv("HUTCH");

	return program ? program : "hutch";
}

static const struct hutch_how *how(void)
{
	static struct hutch_how how;

	how = (struct hutch_how){ .size = sizeof(how), .program = trial_program() };
	return &how;
}

struct hutch *trial_attach(const char *name)
{
	struct hutch_error e;
	struct hutch *h;

	works(&e, hutch_attach(name, how(), &h, &e) == 0);
	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	return h;
}

struct hutch *trial_take(const char *pool)
{
	struct hutch_error e;
	struct hutch *h;

	works(&e, hutch_take(pool, how(), &h, &e) == 0);
	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	return h;
}

struct hutch *trial_create(const char *name)
{
	const char *const args[] = { name, NULL };
	struct hutch_error e;
	struct hutch *h;

	works(&e, hutch_create(args, how(), &h, &e) == 0);
	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	check(!strcmp(hutch_name(h), name));
	return h;
}

void trial_end(struct hutch *h)
{
	char name[64];
	struct hutch_error e;

	snprintf(name, sizeof(name), "%s", hutch_name(h));
	hutch_close(h);
	works(&e, hutch_rm(name, HUTCH_FORCE, how(), &e) == 0);
}

int trial_sh(struct hutch *h, const char *line, char *out, size_t size)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	const struct hutch_exec x = { .size = sizeof(x), .argv = argv };
	struct hutch_result r;
	struct hutch_error e;

	works(&e, hutch_run(h, &x, NULL, &r, &e) == 0);
	if (out)
		snprintf(out, size, "%s", r.out);
	const int code = r.exit_code;
	hutch_result_done(&r);
	return code;
}

struct hutch_message *trial_answer(struct hutch *h, int64_t call)
{
	struct hutch_message *m;
	struct hutch_error e = { .message = "the call was not made" };

	works(&e, hutch_wait(h, call, PATIENCE_MS, &m, &e) == 0);
	return m;
}

struct hutch_message *trial_next(struct hutch *h, int type, int64_t call)
{
	struct hutch_message *m;
	struct hutch_error e = { .message = "none came" };

	for (;;) {
		works(&e, hutch_next(h, PATIENCE_MS, &m, &e) == 1);
		if (m->type == type && (!call || m->call == call))
			return m;
		hutch_message_free(m);
	}
}
