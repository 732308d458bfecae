/* Runs out of memory: each allocation of the library fails once.
 *
 * This file replaces malloc(3) and its kin (glibc, "Replacing malloc").  In a
 * build with sanitizers the sanitizer does so, and no allocation can be made to
 * fail. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "tests/lib/trial.h"

static _Thread_local long fails_at; /* allocations until one fails; 0: none is to fail */
static _Thread_local bool has_failed;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static bool is_out(void)
{
	if (fails_at == 0 || --fails_at > 0)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return is_out() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_out() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return is_out() ? NULL : __libc_realloc(p, size);
}
#endif

void trial_fail_memory(long n)
{
	has_failed = false;
	fails_at = n;
}

bool trial_has_failed(void)
{
	fails_at = 0;
	return has_failed;
}

bool trial_can_fail_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	return true;
#else
	return false;
#endif
}

/* Runs all calls with the n-th allocation failing.  Returns whether one
 * failed.  A call in which it failed must return HUTCH_NO_MEMORY and must work
 * when repeated. */
static bool try_all(long n)
{
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = (const char *const[]){
					      "sh", "-c", "seq 20000; cat", NULL } };
	const struct hutch_exec told = { .size = sizeof(told),
					 .argv = (const char *const[]){
						 "printf", "\\377%s", "told", NULL } };
	struct hutch_message *m;
	struct hutch_result r;
	struct hutch_error e;
	struct hutch *h;
	int rc, outputs = 0;
	int64_t call, process = 0, code = -1;

	trial_fail_memory(n);
#define again(claim)                                                                \
	do {                                                                        \
		const bool had = has_failed;                                        \
		if (!(claim)) {                                                     \
			works(&e, e.kind == HUTCH_NO_MEMORY && has_failed && !had); \
			works(&e, (claim));                                         \
		}                                                                   \
	} while (0)
	again(hutch_attach("box", &how, &h, &e) == 0);
	again(hutch_ready(h, PATIENCE_MS, &e) == 0);
	struct pollfd w = { .events = POLLIN };
	again((w.fd = hutch_fd(h, &e)) >= 0);
	again((call = hutch_info(h, HUTCH_WAIT, &e)) > 0);
	again(hutch_wait(h, call, PATIENCE_MS, &m, &e) == 0);
	hutch_message_free(m);
	again(hutch_run(h, &x,
			&(struct hutch_input){ .size = sizeof(struct hutch_input),
					       .data = "in",
					       .len = 2 },
			&r, &e) == 0);
	check(r.out_len > 100000 && !strcmp(r.out + r.out_len - 2, "in"));
	hutch_result_done(&r);
	again((call = hutch_exec(h, &told, HUTCH_WAIT, &e)) > 0);
	again(hutch_wait(h, call, PATIENCE_MS, &m, &e) == 0);
	check(hutch_json_integer(m->json, "process", &process));
	hutch_message_free(m);
	/* If an allocation failed halfway through a start, the end of that process
	 * may be reported, too. */
	while (code < 0) {
		rc = hutch_next(h, PATIENCE_MS, &m, &e);
		/* poll(2) reports that there is a message to be taken again. */
		check(rc == 1 || poll(&w, 1, 0) == 1);
		if (rc < 0)
			works(&e, e.kind == HUTCH_NO_MEMORY &&
					  hutch_next(h, PATIENCE_MS, &m, &e) == 1);
		if (m->type == HUTCH_OUTPUT)
			outputs += m->data_len == 5 && !memcmp(m->data, "\377told", 5);
		if (m->type == HUTCH_EVENT && m->process == process)
			(void)hutch_json_integer(m->json, "exit_code", &code);
		hutch_message_free(m);
	}
	check(outputs == 1 && code == 0);
	const bool did = trial_has_failed();
	hutch_close(h);
	return did;
}

static void say_that_there_is_no_memory(void)
{
	struct hutch *h = trial_create("box");
	long n = 1;

	while (try_all(n))
		n++;
	check(n > 20 || !trial_can_fail_memory());
	trial_end(h);
}

const struct trial trials_memory[] = {
	{ "say_that_there_is_no_memory", say_that_there_is_no_memory },
	{ NULL, NULL },
};
