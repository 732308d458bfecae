/* Failures between a program and its sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/trial.h"

static int open_it(const char *name, struct hutch_error *e)
{
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch *h;

	if (hutch_attach(name, &how, &h, e) < 0)
		return -1;
	const int rc = hutch_ready(h, PATIENCE_MS, e);
	hutch_close(h);
	return rc;
}

static int make_it(const char *const *args, const char *program, struct hutch_error *e)
{
	const struct hutch_how how = { .size = sizeof(how), .program = program };
	struct hutch *h;

	if (hutch_create(args, &how, &h, e) < 0)
		return -1;
	const int rc = hutch_ready(h, PATIENCE_MS, e);
	hutch_close(h);
	return rc;
}

static void explain_errors(void)
{
	struct hutch_error e;
	struct hutch *h = trial_create("box");
	const char *const again[] = { "box", NULL }, *const wrong[] = { "--no-such-flag",
									"x", NULL };
	const char *const bad[] = { "-bad", NULL }, *const none[] = { NULL };

	check(make_it(again, trial_program(), &e) == -1 && e.kind == HUTCH_EXISTS);
	check(strstr(e.message, "'box'") && e.exit_code == 125);
	check(make_it(wrong, trial_program(), &e) == -1 && e.kind == HUTCH_INVALID);
	check(strstr(e.message, "--no-such-flag"));
	check(make_it(again, "/no/such/hutch", &e) == -1 && e.kind == HUTCH_NOT_FOUND);
	check(strstr(e.message, "/no/such/hutch") && strstr(e.remedy, "PATH"));
	check(make_it(again, "/bin/true", &e) == -1 && e.kind == HUTCH_SYSTEM);
	check(make_it(bad, trial_program(), &e) == -1 && e.kind == HUTCH_INVALID);
	check(make_it(none, trial_program(), &e) == -1 && e.kind == HUTCH_INVALID);
	check(open_it("nobox", &e) == -1 && e.kind == HUTCH_NOT_FOUND && e.remedy[0]);
	check(open_it("../box", &e) == -1 && e.kind == HUTCH_INVALID);
	check(open_it("box", NULL) == 0);

	const char *const nothing[] = { "no-such-program", NULL }, *const latin[] = {
		"\xe9", NULL
	};
	struct hutch_exec x = { .size = sizeof(x), .argv = nothing };
	struct hutch_result r;
	check(hutch_run(h, &x, NULL, &r, &e) == -1 && e.kind == HUTCH_NOT_FOUND &&
	      e.exit_code == 127);
	x.argv = latin;
	check(hutch_run(h, &x, NULL, &r, &e) == -1 && e.kind == HUTCH_INVALID);
	check(hutch_exec(h, &x, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	x.argv = NULL;
	check(hutch_exec(h, &x, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	check(hutch_act(h, "{\"action\":", 0, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	check(hutch_act(h, "{}} {\"a\":{}", 0, NULL, &e) == -1 &&
	      e.kind == HUTCH_INVALID);
	const struct hutch_request odd = { .size = sizeof(odd),
					   .method = "info\",\"x\":\"" };
	const struct hutch_request later = { .size = sizeof(later), .method = "apply" };
	check(hutch_call(h, &odd, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	check(hutch_wait(h, hutch_call(h, &later, HUTCH_WAIT, &e), -1, NULL, &e) == -1);
	check(e.kind == HUTCH_UNSUPPORTED && !strncmp(e.message, "sandbox 'box': ", 15));
	check(hutch_wait(h, 99, 0, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	check(hutch_wait(h, hutch_info(h, NULL, &e), 0, NULL, &e) == -1 &&
	      e.kind == HUTCH_INVALID);
	check(!hutch_json_quote("\xe9") && !hutch_json_string("{\"a\":1}", "a"));

	/* The first wait times out. Then the command is let go on, and the second
	 * wait gets the answer. */
	check(trial_sh(h, "mkfifo /tmp/go", NULL, 0) == 0);
	const int64_t call =
		hutch_call(h,
			   &(struct hutch_request){
				   .size = sizeof(struct hutch_request),
				   .method = "act",
				   .params = "{\"action\":{\"action\":\"run\",\"args\":"
					     "{\"command\":\"read x </tmp/go\"}}}" },
			   HUTCH_WAIT, &e);
	check(hutch_wait(h, call, 20, NULL, &e) == -1 && e.kind == HUTCH_TIMEOUT);
	check(trial_sh(h, "echo >/tmp/go", NULL, 0) == 0);
	hutch_message_free(trial_answer(h, call));
	check(hutch_rm("box", 0,
		       &(struct hutch_how){ .size = sizeof(struct hutch_how),
					    .program = trial_program() },
		       &e) == -1);
	check(e.kind == HUTCH_BUSY && strstr(e.message, "has not ended") &&
	      strstr(e.remedy, "hutch"));
	trial_end(h);
	check(open_it("box", &e) == -1 && e.kind == HUTCH_NOT_FOUND);
	check(hutch_rm("box", 0,
		       &(struct hutch_how){ .size = sizeof(struct hutch_how),
					    .program = trial_program() },
		       &e) == -1);
	works(&e, e.kind == HUTCH_NOT_FOUND);
}

/* --- fork ------------------------------------------------------------------ */

static void be_child(struct hutch *h, int done, int lasting)
{
	struct hutch_message *m;
	struct hutch_result r;
	struct hutch_error e;
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = (const char *const[]){ "true", NULL } };
	char byte;

	check(trial_lasting() == lasting);
	check(hutch_info(h, HUTCH_WAIT, &e) == -1 && e.kind == HUTCH_FORKED);
	check(strstr(e.message, "fork") && strstr(e.remedy, "hutch_attach"));
	check(hutch_next(h, 0, &m, &e) == -1 && e.kind == HUTCH_FORKED);
	check(hutch_wait(h, 2, 0, &m, &e) == -1 && e.kind == HUTCH_FORKED);
	check(hutch_ready(h, 0, &e) == -1 && e.kind == HUTCH_FORKED);
	check(hutch_fd(h, &e) == -1 && e.kind == HUTCH_FORKED);
	check(hutch_run(h, &x, NULL, &r, &e) == -1 && e.kind == HUTCH_FORKED);
	check(hutch_act_stream(h, 0, &e) == -1 && e.kind == HUTCH_FORKED);
	hutch_close(h);
	struct hutch *own = trial_attach("box");
	check(trial_sh(own, "exit 4", NULL, 0) == 4);
	hutch_close(own);
	check(write(done, "", 1) == 1);
	/* Waits until the parent has checked the connections. */
	check(read(done, &byte, 1) == 0);
	_exit(0);
}

/* Calls from another thread, so that fork(2) may find the lock held. */
static void *keep_calling(void *arg)
{
	struct hutch *h = arg;
	struct hutch_error e;

	for (int i = 0; i < 300; i++)
		hutch_message_free(trial_answer(h, hutch_info(h, HUTCH_WAIT, &e)));
	return NULL;
}

static void refuse_a_child_of_fork(void)
{
	const int lasting = trial_lasting();
	struct hutch *h = trial_create("box");
	struct hutch_error e;
	pthread_t thread;
	int ends[2], status;

	const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
	check(hutch_fd(h, &e) >= 0);
	check(pthread_create(&thread, NULL, keep_calling, h) == 0);
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_child(h, ends[1], lasting);
	}
	close(ends[1]);
	check(pthread_join(thread, NULL) == 0);
	check(read(ends[0], &(char){ 0 }, 1) == 1);
	/* The fork has taken nothing from the parent's connection.  Closing the
	 * handle must also end the connection, since the child has no copy of its
	 * descriptor. */
	hutch_message_free(trial_answer(h, call));
	struct hutch *other = trial_attach("box");
	hutch_message_free(trial_answer(other, hutch_events(other, 0, HUTCH_WAIT, &e)));
	hutch_close(h);
	int64_t clients = 0;
	while (clients != 1) {
		struct hutch_message *m = trial_next(other, HUTCH_EVENT, 0);
		(void)hutch_json_integer(m->json, "clients", &clients);
		hutch_message_free(m);
	}
	close(ends[0]);
	check(waitpid(pid, &status, 0) == pid && status == 0);
	trial_end(other);
}

/* --- the supervisor goes --------------------------------------------------- */

static pid_t supervisor_of(const char *name)
{
	struct hutch *h = trial_attach(name);
	struct hutch_error e;
	struct hutch_message *m = trial_answer(h, hutch_info(h, HUTCH_WAIT, &e));
	char path[64], line[256];
	int64_t pid = 0;
	int parent = 0;

	check(hutch_json_integer(m->json, "pid", &pid));
	hutch_message_free(m);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *stat = fopen(path, "re");
	check(stat && fgets(line, sizeof(line), stat) &&
	      sscanf(strrchr(line, ')'), ") %*c %d", &parent) == 1);
	fclose(stat);
	hutch_close(h);
	return parent;
}

static void *wait_in_vain(void *arg)
{
	static const char action[] = "{\"action\":\"run\",\"session\":\"other\","
				     "\"args\":{\"command\":\"sleep 1000\"}}";
	struct hutch_message *m;
	struct hutch_error e;
	const int64_t call = hutch_act(arg, action, 0, HUTCH_WAIT, &e);

	if (hutch_wait(arg, call, -1, &m, &e) == 0)
		fprintf(stderr, "it was answered: %s\n", m->json);
	works(&e, e.kind == HUTCH_DISCONNECTED && strstr(e.message, "'box'"));
	return NULL;
}

struct twice {
	struct hutch *h;
	int64_t call;
};

static void *wait_twice(void *arg)
{
	const struct twice *twice = arg;
	struct hutch_error e;

	/* HUTCH_INVALID: the main thread is just waiting for this call, for a
	 * millisecond at a time, and two threads may not wait for one call. */
	while (hutch_wait(twice->h, twice->call, -1, NULL, &e) == -1 &&
	       e.kind == HUTCH_INVALID)
		;
	check(e.kind == HUTCH_DISCONNECTED);
	return NULL;
}

/* True once the other thread waits for the call.  Until then this thread's wait
 * times out; from then on it is refused. */
static bool is_waited_for(void *context)
{
	const struct twice *twice = context;
	struct hutch_error e;

	check(hutch_wait(twice->h, twice->call, 0, NULL, &e) == -1);
	check(e.kind == HUTCH_TIMEOUT || strstr(e.message, "another thread"));
	return e.kind == HUTCH_INVALID;
}

static void *run_in_vain(void *arg)
{
	const struct hutch_exec x = {
		.size = sizeof(x), .argv = (const char *const[]){ "sleep", "1000", NULL }
	};
	struct hutch_result r;
	struct hutch_error e;

	check(hutch_run(arg, &x, NULL, &r, &e) == -1 && e.kind == HUTCH_DISCONNECTED);
	return NULL;
}

static void end_every_call_when_the_supervisor_is_gone(void)
{
	struct hutch *h = trial_create("box");
	struct hutch_error e;
	struct hutch_message *m;
	pthread_t threads[3];
	int tags[2];

	const struct hutch_exec x = {
		.size = sizeof(x), .argv = (const char *const[]){ "sleep", "1000", NULL }
	};
	m = trial_answer(h, hutch_exec(h, &x, HUTCH_WAIT, &e));
	int64_t process = 0;
	check(hutch_json_integer(m->json, "process", &process));
	hutch_message_free(m);
	/* The child that is forked below holds copies of the library's descriptors. */
	int held[2], status;
	check(pipe2(held, O_CLOEXEC) == 0);
	const pid_t child = fork();
	if (child == 0) {
		close(held[1]);
		_exit((int)read(held[0], &(char){ 0 }, 1));
	}
	const int64_t kept = hutch_exec_wait(h, process, HUTCH_WAIT, &e);
	const int64_t late = hutch_exec_wait(h, process, HUTCH_WAIT, &e);
	check(hutch_exec_wait(h, process, &tags[0], &e) > 0);
	check(hutch_exec_wait(h, process, &tags[1], &e) > 0);
	check(pthread_create(&threads[0], NULL, wait_in_vain, h) == 0);
	struct twice twice = { h, kept };
	check(pthread_create(&threads[2], NULL, wait_twice, &twice) == 0);
	patience_wait(is_waited_for, &twice);
	check(pthread_create(&threads[1], NULL, run_in_vain, h) == 0);
	hutch_message_free(trial_answer(h, hutch_info(h, HUTCH_WAIT, &e)));
	check(kill(supervisor_of("box"), SIGKILL) == 0);
	for (int i = 0; i < 3; i++)
		check(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < 2; i++) {
		m = trial_next(h, HUTCH_ANSWER, 0);
		check(m->tag == &tags[i] && m->error.kind == HUTCH_DISCONNECTED);
		hutch_message_free(m);
	}
	check(hutch_wait(h, late, 0, NULL, &e) == -1 && e.kind == HUTCH_DISCONNECTED);
	hutch_message_free(trial_next(h, HUTCH_ENDED, 0));
	check(hutch_next(h, -1, &m, &e) == -1 && e.kind == HUTCH_DISCONNECTED);
	check(hutch_info(h, NULL, &e) == -1 && e.kind == HUTCH_DISCONNECTED);
	struct pollfd w = { .fd = hutch_fd(h, &e), .events = POLLIN };
	check(poll(&w, 1, 0) == 0); /* poll(2) must not wake up again and again */
	close(held[0]), close(held[1]);
	check(waitpid(child, &status, 0) == child && status == 0);
	trial_end(h);
}

/* The supervisor of the sandbox "box" is stopped.  Meanwhile two handles of the
 * sandbox "barn" are not read, one before and one after its greeting.  Their
 * supervisor answers in time, so both still work, however late the answers are read. */
static void give_up_on_one_that_is_stuck(void)
{
	struct hutch *h = trial_create("box"), *well = trial_create("barn");
	struct hutch *other, *silent, *greeted;
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	const pid_t supervisor = supervisor_of("box");
	struct hutch_error e;

	works(&e, hutch_attach("barn", &how, &silent, &e) == 0);
	works(&e, hutch_attach("barn", &how, &greeted, &e) == 0);
	const int64_t call = hutch_info(greeted, HUTCH_WAIT, &e);

	check(kill(supervisor, SIGSTOP) == 0);
	works(&e, hutch_attach("box", &how, &other, &e) == 0);
	/* If the machine was suspended meanwhile, the handle may have failed
	 * already. */
	check(hutch_ready(other, 100, &e) == -1 &&
	      (strstr(e.message, "not ready within 100 ms") ||
	       strstr(e.message, "stopped or is stuck")));
	check(hutch_ready(other, -1, &e) == -1 &&
	      strstr(e.message, "stopped or is stuck"));
	check(strstr(e.remedy, "hutch rm -f box"));
	hutch_close(other);
	check(kill(supervisor, SIGCONT) == 0);
	check(trial_sh(h, "exit 6", NULL, 0) == 6);
	works(&e, hutch_ready(silent, PATIENCE_MS, &e) == 0);
	hutch_message_free(trial_answer(greeted, call));
	hutch_close(silent);
	hutch_close(greeted);
	trial_end(well);
	trial_end(h);
}

/* --- hosts with habits ----------------------------------------------------- */

static void take_all(int signo)
{
	int saved = errno;

	(void)signo;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = saved;
}

static void share_children_with_the_host(void)
{
	struct sigaction taking = { .sa_handler = take_all, .sa_flags = SA_RESTART }, old;
	struct hutch_error e;
	const char *const again[] = { "box", NULL };

	for (int i = 0; i < 2; i++) {
		check(sigaction(SIGCHLD, &taking, &old) == 0);
		struct hutch *h = trial_create("box");
		check(make_it(again, trial_program(), &e) == -1 &&
		      e.kind == HUTCH_EXISTS);
		trial_end(h);
		check(open_it("box", &e) == -1 && e.kind == HUTCH_NOT_FOUND);
		check(sigaction(SIGCHLD, &old, NULL) == 0);
		taking.sa_handler = SIG_IGN; /* the second time */
	}
}

/* When the handle is closed, the sandbox may be starting, ready or ending.  In each
 * case `hutch rm -f` waits until it has ended. */
static void leave_nothing_when_closed_early(void)
{
	const char *const args[] = { "box", NULL };
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch_error e;
	struct hutch *h;

	for (int i = 0; i < 8; i++) {
		works(&e, hutch_create(args, &how, &h, &e) == 0);
		check(hutch_info(h, NULL, &e) > 0);
		for (int turns = 0; turns < 100 * i * i; turns++)
			sched_yield(); /* the close comes later in each round */
		if (i == 7)
			works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
		hutch_close(h);
		for (int tries = 0; make_it(args, trial_program(), &e) < 0; tries++) {
			works(&e, e.kind == HUTCH_EXISTS && tries < 100);
			(void)hutch_rm("box", HUTCH_FORCE, &how, &e);
		}
		works(&e, hutch_rm("box", HUTCH_FORCE, &how, &e) == 0);
	}
}

static void say_that_there_are_no_descriptors(void)
{
	struct hutch *h = trial_create("box");
	struct rlimit old, few;
	struct hutch_error e;
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = (const char *const[]){ "true", NULL } };
	struct hutch_result r;
	int worked = 0;

	check(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few = old;
	for (few.rlim_cur = 0; few.rlim_cur < 40 && worked < 2; few.rlim_cur++) {
		check(setrlimit(RLIMIT_NOFILE, &few) == 0);
		const bool has_run = hutch_run(h, &x, NULL, &r, &e) == 0;
		check(has_run || e.kind == HUTCH_LIMIT);
		if (has_run)
			hutch_result_done(&r);
		const bool has_opened = open_it("box", &e) == 0;
		check(has_opened || e.kind == HUTCH_LIMIT || e.kind == HUTCH_SYSTEM);
		worked += has_run && has_opened;
	}
	check(setrlimit(RLIMIT_NOFILE, &old) == 0 && worked == 2);
	check(trial_sh(h, "exit 5", NULL, 0) == 5);
	trial_end(h);
}

const struct trial trials_trouble[] = {
	{ "explain_errors", explain_errors },
	{ "refuse_a_child_of_fork", refuse_a_child_of_fork },
	{ "end_every_call_when_the_supervisor_is_gone",
	  end_every_call_when_the_supervisor_is_gone },
	{ "give_up_on_one_that_is_stuck", give_up_on_one_that_is_stuck },
	{ "share_children_with_the_host", share_children_with_the_host },
	{ "leave_nothing_when_closed_early", leave_nothing_when_closed_early },
	{ "say_that_there_are_no_descriptors", say_that_there_are_no_descriptors },
	{ NULL, NULL },
};
