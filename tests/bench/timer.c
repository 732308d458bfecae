/* timer -- starts commands and prints the cost of each start.
 *
 *	timer turns ROUNDS CMD [ARG...] [:: CMD [ARG...]]...
 *	timer together COUNT CMD [ARG...]
 *	timer lanes COUNT ROUNDS CMD [ARG...] [:: CMD [ARG...]]...
 *
 * `turns` runs A B C A B C ..., so that a machine that grows slower or busier
 * does so for all of them alike.  `together` starts COUNT processes without
 * waiting and then collects them.  `lanes` has COUNT processes, each of which runs
 * all the commands in turn, ROUNDS times; an argument "%" is the lane's number there.
 *
 * One line a sample on stdout:
 *
 *	COMMAND ROUND WALL_US USER_US SYSTEM_US MAXRSS_KB STATUS
 *
 * WALL_US is from before the start (`together`: of the first one) to the
 * collected exit.  The CPU time is that of the command and of every descendant
 * that was waited for; orphans come to us, since we are a subreaper, and count
 * for the command that ran (not told apart under `together`, where they are
 * added to a last line with COMMAND = -1).  STATUS is an exit code or 128 + the
 * signal.  `lanes` prints one line, for all that it ran, from the first start to
 * the end of the last; a command that fails ends its lane, and the status is 1.
 *
 * Commands get /dev/null as stdin and stdout.  They are started by
 * posix_spawn(3), which shares the timer's memory until the exec, so the cost
 * of a start does not depend on the timer's size. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 32
#define ORPHANS	     (-1)

extern char **environ;

struct sample {
	int command;
	int round;
	pid_t pid;
	int status;
	double wall_us;
	double user_us;
	double system_us;
	long maxrss_kb;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double timeval_us(struct timeval t)
{
	return t.tv_sec * 1e6 + t.tv_usec;
}

static pid_t spawn(char **argv, const posix_spawn_file_actions_t *actions)
{
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
	if (errno != 0)
		err(1, "start %s", argv[0]);
	return pid;
}

/* Reaps any one child.  Returns its pid, or 0 if there is none left. */
static pid_t collect(struct sample *s, int options)
{
	struct rusage used;
	int status;
	pid_t pid = wait4(-1, &status, options, &used);

	if (pid <= 0)
		return 0;
	s->wall_us = now_us();
	s->user_us += timeval_us(used.ru_utime);
	s->system_us += timeval_us(used.ru_stime);
	if (used.ru_maxrss > s->maxrss_kb)
		s->maxrss_kb = used.ru_maxrss;
	s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					: WEXITSTATUS(status);
	return pid;
}

static void print_sample(const struct sample *s)
{
	printf("%d %d %.1f %.0f %.0f %ld %d\n", s->command, s->round,
	       s->wall_us, s->user_us, s->system_us, s->maxrss_kb, s->status);
}

/* Measures one start; processes that outlive the command are reaped, too, but
 * not timed. */
static void measure(struct sample *s, char **argv,
		    const posix_spawn_file_actions_t *actions)
{
	double start = now_us();
	pid_t pid = spawn(argv, actions), gone;
	struct sample orphan = { 0 };

	do {
		gone = collect(s, 0);
	} while (gone != 0 && gone != pid);
	s->wall_us -= start;

	while (collect(&orphan, 0) != 0)
		;
	s->user_us += orphan.user_us;
	s->system_us += orphan.system_us;
}

/* Splits the arguments at "::" in place.  Returns the number of commands. */
static int split_commands(char **args, char ***ret_commands)
{
	int count = 0;

	ret_commands[count++] = args;
	for (; *args != NULL; args++) {
		if (strcmp(*args, "::") != 0)
			continue;
		if (count == COMMANDS_MAX)
			errx(2, "more than %d commands", COMMANDS_MAX);
		*args = NULL;
		ret_commands[count++] = args + 1;
	}
	return count;
}

static void run_turns(int rounds, char **args,
		      const posix_spawn_file_actions_t *actions)
{
	char **commands[COMMANDS_MAX];
	int count = split_commands(args, commands);

	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			struct sample s = { .command = i, .round = round };

			measure(&s, commands[i], actions);
			print_sample(&s);
		}
}

static struct sample *sample_of(struct sample *all, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

static void run_together(int count, char **argv,
			 const posix_spawn_file_actions_t *actions)
{
	struct sample *all = calloc(count, sizeof(*all));
	struct sample orphans = { .command = ORPHANS };
	double start = now_us();

	if (all == NULL)
		err(1, "allocate %d samples", count);
	for (int i = 0; i < count; i++)
		all[i] = (struct sample){ .round = i, .pid = spawn(argv, actions) };

	for (;;) {
		struct sample got = { 0 };
		pid_t pid = collect(&got, 0);
		struct sample *s = sample_of(all, count, pid);

		if (pid == 0)
			break;
		if (s == NULL) {
			orphans.user_us += got.user_us;
			orphans.system_us += got.system_us;
			continue;
		}
		got.round = s->round;
		got.wall_us -= start;
		*s = got;
	}
	for (int i = 0; i < count; i++)
		print_sample(&all[i]);
	print_sample(&orphans);
	free(all);
}

/* Runs one of the lanes. */
_Noreturn static void run_lane(int lane, int rounds, char ***commands, int count,
			       const posix_spawn_file_actions_t *actions)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", lane);
	for (int i = 0; i < count; i++)
		for (char **arg = commands[i]; *arg != NULL; arg++)
			if (strcmp(*arg, "%") == 0)
				*arg = number;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			pid_t pid = spawn(commands[i], actions);
			int status;

			if (waitpid(pid, &status, 0) < 0 || status != 0)
				_exit(1);
		}
	_exit(0);
}

static void run_lanes(int lanes, int rounds, char **args,
		      const posix_spawn_file_actions_t *actions)
{
	struct sample all = { .round = lanes * rounds };
	char **commands[COMMANDS_MAX];
	int count = split_commands(args, commands), worst = 0;
	double start = now_us(), end = start;

	for (int lane = 0; lane < lanes; lane++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0)
			run_lane(lane, rounds, commands, count, actions);
	}
	/* Orphans count, too: processes that a command leaves behind are part
	 * of its cost. */
	while (collect(&all, 0) != 0) {
		end = all.wall_us;
		if (all.status > worst)
			worst = all.status;
	}
	all.wall_us = end - start;
	all.status = worst;
	print_sample(&all);
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	int count = argc >= 4 ? atoi(argv[2]) : 0;

	int rounds = argc >= 5 ? atoi(argv[3]) : 0;

	if (count <= 0 || (strcmp(argv[1], "lanes") == 0 && rounds <= 0))
		errx(2, "usage: timer turns ROUNDS CMD... [:: CMD...] | "
			"timer together COUNT CMD... | "
			"timer lanes COUNT ROUNDS CMD... [:: CMD...]");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		err(1, "become a subreaper");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

	if (strcmp(argv[1], "turns") == 0)
		run_turns(count, argv + 3, &actions);
	else if (strcmp(argv[1], "together") == 0)
		run_together(count, argv + 3, &actions);
	else if (strcmp(argv[1], "lanes") == 0)
		run_lanes(count, rounds, argv + 4, &actions);
	else
		errx(2, "neither turns, together nor lanes: %s", argv[1]);
	posix_spawn_file_actions_destroy(&actions);
	return 0;
}
