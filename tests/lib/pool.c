/* Sandboxes from pools: from a real pool, and from a keeper that sends what the
 * test tells it to. */
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd_pass.h"
#include "tests/lib/trial.h"

/* library.bats has made the pool "pond", which holds one sandbox ready. */
static void take_from_a_pool(void)
{
	struct hutch *kept = trial_take("pond"), *held = trial_take("pond"), *none;
	struct hutch_error e;
	char out[16];

	check(strncmp(hutch_name(kept), "pond-", 5) == 0);
	check(strcmp(hutch_name(kept), hutch_name(held)) != 0);
	check(trial_sh(held, "echo here", out, sizeof(out)) == 0 &&
	      !strcmp(out, "here\n"));
	check(hutch_wait(held, hutch_release(held, "../x", HUTCH_WAIT, &e), PATIENCE_MS,
			 NULL, &e) < 0);
	check(e.kind == HUTCH_INVALID);
	hutch_message_free(
		trial_answer(kept, hutch_release(kept, "kept", HUTCH_WAIT, &e)));
	check(hutch_wait(kept, hutch_release(kept, NULL, HUTCH_WAIT, &e), PATIENCE_MS,
			 NULL, &e) < 0);
	check(e.kind == HUTCH_INVALID);
	hutch_close(kept);
	hutch_close(held); /* closes a sandbox that was not released, which ends it */
	trial_end(trial_attach("kept"));

	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	works(&e, hutch_take("nothing", &how, &none, &e) == 0);
	check(hutch_ready(none, PATIENCE_MS, &e) == -1 && e.kind == HUTCH_NOT_FOUND);
	hutch_close(none);
}

/* --- straight from its keeper -------------------------------------------------- */

/* The library connects to a keeper itself, except as root: root's pools belong
 * to another user, and only `hutch` finds that out. */
static bool goes_straight(void)
{
	return geteuid() != 0;
}

/* Takes from the same pool without starting a program of hutch; each sandbox
 * answers. */
static void take_without_a_program(void)
{
	const struct hutch_how how = { .size = sizeof(how), .program = "/nonexistent" };
	struct hutch_error e;
	struct hutch *h;

	if (!goes_straight())
		return;
	/* The pool has one ready and has to make the other two. */
	for (int i = 0; i < 3; i++) {
		works(&e, hutch_take("pond", &how, &h, &e) == 0);
		hutch_message_free(trial_answer(h, hutch_info(h, HUTCH_WAIT, &e)));
		hutch_close(h);
	}
	/* The handle may be closed while hutch_take() still waits for the pool's
	 * answer. */
	works(&e, hutch_take("pond", &how, &h, &e) == 0);
	check(hutch_fd(h, &e) >= 0);
	hutch_close(h);
	check(hutch_take("nothing", &how, &h, &e) == -1 && e.kind == HUTCH_NOT_FOUND);
}

/* --- another keeper ------------------------------------------------------------- */

static void folder(char *path, size_t size, const char *below)
{
	snprintf(path, size, "%s/hutch%s", getenv("XDG_RUNTIME_DIR"), below);
	(void)mkdir(path, 0700); /* fails if the folder exists already */
}

/* Listens as the keeper of a pool named "mirage". */
static int keep_mirage(struct sockaddr_un *address)
{
	char path[100];
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	folder(path, sizeof(path), "");
	folder(path, sizeof(path), "/.pools");
	folder(path, sizeof(path), "/.pools/mirage");
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	check((size_t)snprintf(address->sun_path, sizeof(address->sun_path),
			       "%s/pool.sock", path) < sizeof(address->sun_path));
	check(bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	      listen(fd, 1) == 0);
	return fd;
}

static void remove_mirage(int fd, const struct sockaddr_un *address)
{
	char path[100];

	close(fd);
	check(unlink(address->sun_path) == 0);
	folder(path, sizeof(path), "/.pools/mirage");
	check(rmdir(path) == 0);
}

/* Returns a handle that takes from "mirage", and the keeper's end of its
 * connection. */
static struct hutch *open_mirage(int listener, int *ret_keeper)
{
	const struct hutch_how how = { .size = sizeof(how), .program = "/nonexistent" };
	struct hutch_error e;
	struct hutch *h;
	char asked[400];

	works(&e, hutch_take("mirage", &how, &h, &e) == 0);
	*ret_keeper = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	check(*ret_keeper >= 0);
	const ssize_t n = recv(*ret_keeper, asked, sizeof(asked) - 1, 0);
	check(n > 0);
	asked[n] = '\0';
	check(strstr(asked, "\"hello\"") && strstr(asked, "\"take\"}\n"));
	return h;
}

#define LINE(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" #id "," rest "}\n"
#define GREETED	       LINE(1, "\"result\":{\"protocol\":1}")
#define REFUSED(kind)                                                                  \
	"\"error\":{\"code\":-32000,\"message\":\"not so\",\"data\":{\"kind\":\"" kind \
	"\"}}"

#define TAKEN	   LINE(2, "\"result\":{\"sandbox\":\"mirage-1\"}")
#define NUL_BEHIND "{\"id\":1,\"result\":{}}\0hello\n"

static const struct keeper {
	const char *says; /* sent by the keeper before it closes the connection */
	bool hands_over;
	int kind;
	const char *why;
} keepers[] = {
	{ "", false, HUTCH_DISCONNECTED, "pool 'mirage' has ended" },
	{ GREETED, false, HUTCH_DISCONNECTED, "pool 'mirage' has ended" },
	{ "hello\n", false, HUTCH_PROTOCOL, "no JSON" },
	{ "\n", false, HUTCH_PROTOCOL, "no JSON" },
	{ LINE("1", "\"result\":{}"), false, HUTCH_PROTOCOL, "no number" },
	{ GREETED GREETED, false, HUTCH_PROTOCOL, "without a request" },
	{ GREETED LINE(3, "\"result\":{}"), false, HUTCH_PROTOCOL, "without a request" },
	{ LINE(2, "\"result\":{\"sandbox\":\"a\"}"), true, HUTCH_PROTOCOL,
	  "without a request" },
	{ GREETED LINE(2, "\"result\":{\"sandbox\":\"a\"}"), false, HUTCH_PROTOCOL,
	  "no sandbox" },
	{ GREETED LINE(2, "\"result\":{\"sandbox\":\"../a\"}"), true, HUTCH_PROTOCOL,
	  "no sandbox" },
	{ GREETED LINE(2, "\"result\":{\"sandbox\":7}"), true, HUTCH_PROTOCOL,
	  "no sandbox" },
	{ GREETED LINE(2, "\"result\":7"), true, HUTCH_PROTOCOL, "no sandbox" },
	{ LINE(1, REFUSED("unsupported")), false, HUTCH_UNSUPPORTED,
	  "pool 'mirage': not so" },
	{ GREETED LINE(2, REFUSED("limit")), false, HUTCH_LIMIT,
	  "pool 'mirage': not so" },
	{ LINE(null, REFUSED("limit")), true, HUTCH_LIMIT, "pool 'mirage': not so" },
};

static void hold_it(int listener, const struct keeper *k, size_t len)
{
	struct hutch_error e;
	int keeper;
	struct hutch *h = open_mirage(listener, &keeper);

	check(!len || fd_pass_send(keeper, k->says, len, &listener, k->hands_over) > 0);
	close(keeper);
	check(hutch_ready(h, PATIENCE_MS, &e) == -1);
	if (e.kind != k->kind || !strstr(e.message, k->why))
		fprintf(stderr, "keeper: %s\n", k->says);
	works(&e, e.kind == k->kind && strstr(e.message, k->why));
	hutch_close(h);
}

static void hold_a_keeper_to_the_protocol(void)
{
	const struct keeper nul = { NUL_BEHIND, false, HUTCH_PROTOCOL, "no JSON" };
	struct sockaddr_un address;

	if (!goes_straight())
		return;
	const int listener = keep_mirage(&address);
	for (size_t i = 0; i < sizeof(keepers) / sizeof(keepers[0]); i++)
		hold_it(listener, &keepers[i], strlen(keepers[i].says));
	hold_it(listener, &nul, sizeof(NUL_BEHIND) - 1);
	remove_mirage(listener, &address);
}

/* The keeper sends its answer byte by byte, each of the first 1,000 bytes with a
 * descriptor beside it. */
static void bound_what_a_keeper_says(void)
{
	struct sockaddr_un address;
	struct hutch_error e;
	int keeper;

	if (!goes_straight())
		return;
	const int listener = keep_mirage(&address);
	struct hutch *h = open_mirage(listener, &keeper);
	for (int i = 0; i < 20000; i++) {
		if (i % 100 == 0)
			(void)hutch_ready(h, 0, &e);
		if (fd_pass_send(keeper, "x", 1, &listener, i < 1000) < 0)
			break;
	}
	check(hutch_ready(h, PATIENCE_MS, &e) == -1 && e.kind == HUTCH_PROTOCOL);
	check(strstr(e.message, "too long"));
	hutch_close(h);
	close(keeper);
	remove_mirage(listener, &address);
}

/* This process has no free descriptor number, so the kernel drops the descriptor of
 * the sandbox. */
static void find_no_descriptor_for_a_sandbox(void)
{
	struct sockaddr_un address;
	struct rlimit old;
	struct hutch_error e;
	int keeper;

	if (!goes_straight())
		return;
	const int listener = keep_mirage(&address);
	struct hutch *h = open_mirage(listener, &keeper);
	check(fd_pass_send(keeper, GREETED TAKEN, strlen(GREETED TAKEN), &listener, 1) >
	      0);
	old = trial_use_up_descriptors();
	check(hutch_ready(h, PATIENCE_MS, &e) == -1);
	check(setrlimit(RLIMIT_NOFILE, &old) == 0);
	works(&e, e.kind == HUTCH_LIMIT && strstr(e.message, "Too many open files"));
	hutch_close(h);
	close(keeper);
	remove_mirage(listener, &address);
}

/* Accepts a connection that is waiting already; returns -1 if there is none. */
static int accept_one(int listener)
{
	struct pollfd w = { .fd = listener, .events = POLLIN };

	return poll(&w, 1, 0) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/* Takes from a keeper and a sandbox that answer at once, with the n-th
 * allocation failing.  Returns true if an allocation failed. */
static bool take_without_memory(int listener, long n)
{
	const struct hutch_how how = { .size = sizeof(how), .program = "/nonexistent" };
	struct hutch_error e = { .kind = HUTCH_OK };
	struct hutch *h = NULL;
	int ends[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	check(write(ends[0], GREETED, strlen(GREETED)) > 0);
	trial_fail_memory(n);
	bool is_ready = hutch_take("mirage", &how, &h, &e) == 0;
	/* -1 if the take failed before it connected. */
	const int keeper = accept_one(listener);
	check(!is_ready || fd_pass_send(keeper, GREETED TAKEN, strlen(GREETED TAKEN),
					&ends[1], 1) > 0);
	is_ready = is_ready && hutch_ready(h, PATIENCE_MS, &e) == 0;
	const bool has_failed = trial_has_failed();
	if (is_ready)
		check(!strcmp(hutch_name(h), "mirage-1"));
	else
		works(&e, has_failed && e.kind == HUTCH_NO_MEMORY);
	hutch_close(h);
	if (keeper >= 0)
		close(keeper);
	close(ends[0]);
	close(ends[1]);
	return has_failed;
}

static void take_where_there_is_no_memory(void)
{
	struct sockaddr_un address;
	long n = 1;

	if (!goes_straight())
		return;
	const int listener = keep_mirage(&address);
	while (take_without_memory(listener, n))
		n++;
	check(n > 5 || !trial_can_fail_memory());
	remove_mirage(listener, &address);
}

static void give_up_on_a_silent_keeper(void)
{
	struct sockaddr_un address;
	struct hutch_error e;
	int silent, slow;

	if (!goes_straight())
		return;
	const int listener = keep_mirage(&address);
	struct hutch *none = open_mirage(listener, &silent);
	struct hutch *some = open_mirage(listener, &slow);
	check(write(slow, GREETED, strlen(GREETED)) > 0); /* then it stays silent */
	check(hutch_ready(none, PATIENCE_MS, &e) == -1 && e.kind == HUTCH_TIMEOUT);
	check(strstr(e.message, "keeper of pool 'mirage' does not answer"));
	check(hutch_ready(some, 300, &e) == -1 && e.kind == HUTCH_TIMEOUT);
	check(strstr(e.message, "not ready within 300 ms"));
	hutch_close(none);
	hutch_close(some);
	close(silent);
	close(slow);
	remove_mirage(listener, &address);
}

const struct trial trials_pool[] = {
	{ "take_from_a_pool", take_from_a_pool },
	{ "take_without_a_program", take_without_a_program },
	{ "hold_a_keeper_to_the_protocol", hold_a_keeper_to_the_protocol },
	{ "bound_what_a_keeper_says", bound_what_a_keeper_says },
	{ "find_no_descriptor_for_a_sandbox", find_no_descriptor_for_a_sandbox },
	{ "take_where_there_is_no_memory", take_where_there_is_no_memory },
	{ "give_up_on_a_silent_keeper", give_up_on_a_silent_keeper },
	{ NULL, NULL },
};
