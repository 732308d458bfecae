/* listener: makes sockets on the host, finds them by name, and removes leftovers. */
#include "sandbox/kernel/listener.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/port_spec.h"
#include "tests/unit/sockets.h"

static int open_word(const char *word, struct listener *ret, struct err *e)
{
	struct port_spec p;

	if (port_spec_parse(word, &p, e) < 0)
		fail_msg("%s", e->text);
	int got = listener_open(&p, ret, e);
	port_spec_done(&p);
	return got;
}

static uint16_t port_of(const struct listener *l)
{
	return (uint16_t)atoi(strrchr(l->host, ':') + 1);
}

static void test_a_port_that_is_named(void **state)
{
	uint16_t port;
	struct listener l, again;
	struct err e;
	int other = listen_at(AF_INET, &port);

	(void)state;
	AUTO_FREE char *word = text_format("%u:80", port);
	assert_int_equal(open_word(word, &l, &e), -1);
	assert_int_equal(e.sys, EADDRINUSE);
	assert_non_null(strstr(e.text, "(from -p "));
	own_close(&other);
	assert_int_equal(open_word(word, &l, &e), 0);
	assert_int_equal(open_word(word, &again, &e), -1);
	AUTO_CLOSE int c = connect_at(port);
	listener_done(&l);
	/* The port can be used again at once, although a closed connection to it
	 * still lingers in the kernel. */
	assert_int_equal(open_word(word, &l, &e), 0);
	listener_done(&l);
	listener_done(&l);
}

/* A range of ports gives each port once; then there is an error. */
static void test_a_range_is_used_up(void **state)
{
	struct listener all[8], more;
	struct err e;
	bool seen[8] = { false };

	(void)state;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(open_word("127.3.2.1:61000-61007:80", &all[i], &e), 0);
		assert_false(seen[port_of(&all[i]) - 61000]);
		seen[port_of(&all[i]) - 61000] = true;
	}
	assert_int_equal(open_word("127.3.2.1:61000-61007:80", &more, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(
		strstr(e.text, "no port from 61000 to 61007 is free at 127.3.2.1"));
	for (int i = 0; i < 8; i++)
		listener_done(&all[i]);
}

static void test_one_of_a_range_is_nobody_elses_either(void **state)
{
	struct listener everywhere, l;
	struct err e;

	(void)state;
	assert_int_equal(open_word("0.0.0.0:61010-61010:80", &everywhere, &e), 0);
	assert_int_equal(open_word("127.0.0.1:61010-61011:80", &l, &e), 0);
	assert_int_equal(port_of(&l), 61011);
	listener_done(&everywhere);
	listener_done(&l);
}

struct folder {
	char path[64], socket[80], word[96];
};

static struct folder new_folder(void)
{
	struct folder f = { .path = "/tmp/hutch-listener.XXXXXX" };

	assert_non_null(mkdtemp(f.path));
	(void)snprintf(f.socket, sizeof(f.socket), "%s/s", f.path);
	(void)snprintf(f.word, sizeof(f.word), "%s:80", f.socket);
	return f;
}

static void test_a_unix_socket_is_its_owners(void **state)
{
	struct folder f = new_folder();
	struct listener l, again;
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(open_word(f.word, &l, &e), 0);
	assert_string_equal(l.host, f.socket);
	assert_int_equal(stat(f.socket, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* While a process listens at the socket, it is neither reused nor removed. */
	assert_int_equal(open_word(f.word, &again, &e), -1);
	listener_remove(f.socket);
	assert_int_equal(stat(f.socket, &st), 0);
	listener_done(&l);
	/* Now it has none. */
	assert_int_equal(open_word(f.word, &again, &e), 0);
	listener_done(&again);
	listener_remove(f.socket);
	assert_int_equal(stat(f.socket, &st), -1);
	(void)rmdir(f.path);
}

static void test_where_its_folder_is_known_no_link_is_followed(void **state)
{
	struct folder f = new_folder();
	AUTO_FREE char *link = text_format("%s/link", f.path);
	struct port_spec p;
	struct listener l;
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(symlink(f.path, link), 0);
	assert_int_equal(port_spec_parse(f.word, &p, &e), 0);
	p.folder = text_copy(link);
	assert_int_equal(listener_open(&p, &l, &e), -1);
	assert_int_equal(e.sys, ELOOP);
	assert_int_equal(stat(f.socket, &st), -1);
	free(p.folder);
	p.folder = text_copy(f.path);
	assert_int_equal(listener_open(&p, &l, &e), 0);
	assert_string_equal(l.host, f.socket);
	listener_done(&l);
	/* The socket has no listener now, so it is replaced. */
	assert_int_equal(listener_open(&p, &l, &e), 0);
	assert_int_equal(stat(f.socket, &st), 0);
	listener_done(&l);
	port_spec_done(&p);
	(void)unlink(f.socket);
	(void)unlink(link);
	(void)rmdir(f.path);
}

static void test_nothing_but_a_dead_socket_is_removed(void **state)
{
	struct folder f = new_folder();
	struct listener l;
	struct stat st;
	struct err e;
	FILE *file = fopen(f.socket, "we");
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	AUTO_CLOSE int datagrams = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)fclose(file);
	assert_int_equal(open_word(f.word, &l, &e), -1);
	listener_remove(f.socket);
	assert_int_equal(stat(f.socket, &st), 0);
	(void)unlink(f.socket);
	memcpy(at.sun_path, f.socket, strlen(f.socket) + 1);
	assert_int_equal(bind(datagrams, (struct sockaddr *)&at, sizeof(at)), 0);
	listener_remove(f.socket);
	assert_int_equal(stat(f.socket, &st), 0);
	(void)unlink(f.socket);
	(void)rmdir(f.path);
}

static void test_a_noted_socket_is_removed_when_it_is_dead(void **state)
{
	struct folder f = new_folder();
	AUTO_CLOSE int folder = open(f.path, O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *notes = text_format("%s/sockets", f.path);
	struct listener l;
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(listener_note(folder, f.socket, &e), 0);
	assert_int_equal(listener_note(folder, notes, &e), 0);
	assert_int_equal(listener_note(folder, "/no\nline", &e), -1);
	assert_int_equal(open_word(f.word, &l, &e), 0);
	listener_remove_listed(folder);
	assert_int_equal(stat(f.socket, &st), 0);
	listener_done(&l);
	listener_remove_listed(folder);
	assert_int_equal(stat(f.socket, &st), -1);
	assert_int_equal(stat(notes, &st), 0);
	(void)unlink(notes);
	(void)rmdir(f.path);
}

/* Publishing the same path again takes no room; the number of paths is bounded. */
static void test_a_socket_is_noted_once(void **state)
{
	struct folder f = new_folder();
	AUTO_CLOSE int folder = open(f.path, O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *notes = text_format("%s/sockets", f.path);
	struct stat st;
	struct err e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(listener_note(folder, "/a/b", &e), 0);
		assert_int_equal(listener_note(folder, "/a", &e), 0);
		assert_int_equal(listener_note(folder, "/b", &e), 0);
	}
	assert_int_equal(stat(notes, &st), 0);
	assert_int_equal(st.st_size, strlen("/a/b\n/a\n/b\n"));
	assert_int_equal(truncate(notes, (1 << 20) - 3), 0);
	assert_int_equal(listener_note(folder, "/cc", &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(listener_note(folder, "/b", &e), 0);
	(void)unlink(notes);
	(void)rmdir(f.path);
}

static void test_an_adopted_descriptor_is_a_listening_stream_socket(void **state)
{
	struct listener l = { .fd = -1 };
	struct err e;
	uint16_t port;
	int pair[2];
	AUTO_CLOSE int listening = listen_at(AF_INET, &port);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_CLOSE int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int unnamed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	tcp_pair(pair);
	assert_int_equal(listener_adopt(null, &l, &e), -1);
	assert_int_equal(listener_adopt(silent, &l, &e), -1);
	assert_int_equal(listener_adopt(pair[0], &l, &e), -1);
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	assert_int_equal(bind(unnamed, (struct sockaddr *)&abstract, sizeof(sa_family_t)),
			 0);
	assert_int_equal(listen(unnamed, 1), 0);
	assert_int_equal(listener_adopt(unnamed, &l, &e), -1);
	assert_null(l.host);
	assert_int_equal(listener_adopt(listening, &l, &e), 0);
	assert_int_equal(port_of(&l), port);
	assert_true(fcntl(listening, F_GETFL) & O_NONBLOCK);
	listening = -1;
	listener_done(&l);
	own_close(&pair[0]);
	own_close(&pair[1]);
}

static _Noreturn void block_for_ever(int fd)
{
	const int flags = fcntl(fd, F_GETFL) & ~O_NONBLOCK;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (fcntl(fd, F_SETFL, flags) == 0)
		;
	_exit(1);
}

/* Another process clears O_NONBLOCK again and again. The test repeats until that has
 * happened between the supervisor's check of the flag and accept(2), which then
 * slept. */
static void test_a_process_that_shares_the_socket_makes_no_accept_sleep_long(void **state)
{
	struct listener l;
	struct err e;
	uint16_t port;

	(void)state;
	listener_expect_shared();
	assert_int_equal(listener_adopt(listen_at(AF_INET, &port), &l, &e), 0);
	pid_t other = fork();
	if (other == 0)
		block_for_ever(l.fd);
	int tries = 1000000;
	do {
		assert_int_equal(listener_accept(&l), -1);
	} while (errno == EAGAIN && --tries);
	assert_int_equal(errno, tries ? EINTR : EAGAIN);
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
	AUTO_CLOSE int c = connect_at(port);
	assert_true(comes(l.fd, POLLIN));
	AUTO_CLOSE int got = listener_accept(&l);
	assert_true(got >= 0);
	listener_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_port_that_is_named),
		cmocka_unit_test(test_a_range_is_used_up),
		cmocka_unit_test(test_one_of_a_range_is_nobody_elses_either),
		cmocka_unit_test(test_a_unix_socket_is_its_owners),
		cmocka_unit_test(test_where_its_folder_is_known_no_link_is_followed),
		cmocka_unit_test(test_nothing_but_a_dead_socket_is_removed),
		cmocka_unit_test(test_a_noted_socket_is_removed_when_it_is_dead),
		cmocka_unit_test(test_a_socket_is_noted_once),
		cmocka_unit_test(test_an_adopted_descriptor_is_a_listening_stream_socket),
		cmocka_unit_test(
			test_a_process_that_shares_the_socket_makes_no_accept_sleep_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
