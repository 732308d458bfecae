/* registry: knows which sandbox has a name, stores facts about it, and copes with
 * files that are in the way. */
#include "sandbox/state/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"
#include "tests/unit/register.h"

/* --- one life -------------------------------------------------------------- */

static void test_a_life_from_its_making_to_its_record(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e;
	struct stat st;
	AUTO_FREE char *folder = scene_path(state, "hutch/one");

	unsigned before = scene_open_fds();
	create("one", &r);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(strspn(r.id, "0123456789abcdef"), REGISTRY_ID_LEN);
	assert_int_equal(registry_look("one", &item, &e), 0);
	assert_int_equal(item.status, REGISTRY_BUILDING);
	assert_null(item.info);
	registry_item_done(&item);
	for (int s = 0; s < REGISTRY_STATUS_COUNT; s++) {
		assert_int_equal(registry_set_status(&r, (enum registry_status)s, &e), 0);
		assert_int_equal(registry_look("one", &item, &e), 0);
		assert_int_equal(item.status, s);
		registry_item_done(&item);
	}
	assert_int_equal(unlinkat(r.folder, "status", 0), 0); /* as at its end */
	assert_int_equal(registry_set_info(&r, "{\"image\":\"host\"}", &e), 0);
	assert_int_equal(registry_look("one", &item, &e), 0);
	assert_int_equal(item.status, REGISTRY_DISCONNECTED);
	assert_string_equal(item.info, "{\"image\":\"host\"}");
	assert_string_equal(item.id, r.id);
	assert_null(item.record);
	AUTO_FREE char *id = text_copy(r.id);
	registry_item_done(&item);
	end(&r, REGISTRY_KEEP);
	assert_false(is_there(state, "hutch/one"));
	expect_absent("one");
	assert_int_equal(registry_find_ended("one", &item, &e), 0);
	assert_string_equal(item.id, id);
	assert_string_equal(item.record, RECORD);
	assert_string_equal(item.info, "{\"image\":\"host\"}");
	assert_true(item.ended_us > 1600000000ll * 1000000);
	registry_item_done(&item);
	expect_ended("one", RECORD);
	assert_int_equal(registry_find_ended(id, &item, &e), 0);
	registry_item_done(&item);
	assert_int_equal(registry_forget(id, &e), 0);
	assert_int_equal(registry_find_ended("one", &item, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(registry_forget("one", &e), -1);
	assert_int_equal(count_in(state, "hutch/.ended") + count_in(state, "hutch/.tmp"),
			 0);
	assert_int_equal(scene_open_fds(), before);
}

static void test_a_removed_sandbox_leaves_nothing(void **state)
{
	struct registry_entry r;

	create("one", &r);
	scene_file(state, "hutch/one/log/main-1", "x");
	end(&r, REGISTRY_REMOVE);
	assert_int_equal(count_in(state, "hutch"), 2);
	assert_int_equal(count_in(state, "hutch/.ended") + count_in(state, "hutch/.tmp"),
			 0);
}

static void test_logs_are_found_before_and_after_the_end(void **state)
{
	struct registry_entry r;
	struct err e;

	create("one", &r);
	scene_file(state, "hutch/one/log/main-1", "x");
	for (int i = 0; i < 2; i++) {
		AUTO_CLOSE int log = registry_log("one", &e);
		assert_true(log >= 0);
		assert_int_equal(faccessat(log, "main-1", F_OK, 0), 0);
		if (i == 0)
			end(&r, REGISTRY_KEEP);
	}
	assert_int_equal(registry_log("other", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_the_latest_of_two_with_one_name_is_found(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		AUTO_FREE char *record = text_format("{\"reason\":\"%d\"}", i);
		create("one", &r);
		assert_int_equal(registry_end(&r, record, REGISTRY_KEEP, &e), 0);
		registry_done(&r);
	}
	expect_ended("one", "\"2\"");
	assert_int_equal(registry_forget("one", &e), 0);
	assert_int_equal(registry_find_ended("one", &item, &e), -1);
}

static void test_texts_are_bounded_and_one_line(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e;
	AUTO_FREE char *huge = text_format("{%0*d}", REGISTRY_TEXT_MAX, 0);

	(void)state;
	create("one", &r);
	assert_int_equal(registry_set_info(&r, "{}", &e), 0);
	assert_int_equal(registry_set_info(&r, huge, &e), -1);
	assert_int_equal(registry_set_info(&r, "{\n}", &e), -1);
	assert_int_equal(registry_look("one", &item, &e), 0);
	assert_string_equal(item.info, "{}");
	registry_item_done(&item);
	/* Even without a valid record the sandbox has ended. */
	assert_int_equal(registry_end(&r, huge, REGISTRY_KEEP, &e), -1);
	registry_done(&r);
	expect_absent("one");
	expect_ended("one", "\"unknown\"");
}

/* --- names ----------------------------------------------------------------- */

static void test_a_bad_name_is_quoted_in_one_sentence(void **state)
{
	AUTO_FREE char *huge = text_format("%04096d", 0);
	AUTO_FREE char *long_one = text_format("%064d", 0);
	const struct { const char *name, *shown; } cases[] = {
		{ "../x", "'../x' is no name" }, { "a\nb", "'a^Jb' is no name" },
		{ "-rf", "'-rf' is no name" },	 { ".ended", "'.ended' is no name" },
		{ "", "'' is no name" },	 { ".", "'.' is no name" },
		{ "..", "'..' is no name" },	 { "a/b", "'a/b' is no name" },
		{ "_a", "'_a' is no name" },	 { "a b", "'a b' is no name" },
		{ "\033[2J", "'^[[2J' is no" },	 { "\xc3\xa9", "'\xc3\xa9' is no name" },
		{ huge, "00...' is no name" },	 { long_one, "00...' is no name" },
	};
	struct registry_entry r;
	struct registry_item item;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *name = cases[i].name;
		char *record;
		assert_int_equal(registry_create(name, &r, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.text, cases[i].shown) || strlen(e.text) > 200)
			fail_msg("%s", e.text);
		assert_int_equal(registry_open(name, &r, NULL), -1);
		assert_int_equal(registry_look(name, &item, NULL), -1);
		assert_int_equal(registry_connect(name, NULL), -1);
		assert_int_equal(registry_find_ended(name, &item, NULL), -1);
		assert_int_equal(registry_log(name, NULL), -1);
		assert_int_equal(registry_wait(name, &record, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(registry_forget(name, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
	assert_false(is_there(state, "hutch"));
	AUTO_FREE char *longest = text_format("a%062d", 0);
	create(longest, &r);
	assert_int_equal(registry_rename(&r, "../x", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	end(&r, REGISTRY_KEEP);
	expect_ended(longest, RECORD);
}

static void test_a_name_that_somebody_has_is_refused(void **state)
{
	struct registry_entry r, other;
	struct err e;

	create("one", &r);
	assert_int_equal(registry_create("one", &other, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_string_equal(e.text, "a sandbox named 'one' is running");
	assert_non_null(strstr(e.remedy, "hutch rm -f one"));
	assert_int_equal(count_in(state, "hutch/.tmp"), 0);
	end(&r, REGISTRY_KEEP);
	create("one", &r);
	end(&r, REGISTRY_REMOVE);
}

static void test_a_renamed_one_is_found_by_its_new_name_alone(void **state)
{
	struct registry_entry r, other;
	struct err e;

	(void)state;
	create("one", &r);
	create("two", &other);
	assert_int_equal(registry_rename(&r, "two", &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_string_equal(r.name, "one");
	assert_int_equal(registry_rename(&r, "three", &e), 0);
	expect_absent("one");
	end(&other, REGISTRY_REMOVE);
	assert_int_equal(registry_open("three", &other, &e), 0);
	assert_string_equal(other.id, r.id);
	registry_done(&other);
	end(&r, REGISTRY_KEEP);
	expect_ended("three", RECORD);
}

/* --- the socket ------------------------------------------------------------ */

static void test_the_socket_of_a_sandbox_is_reached_by_name(void **state)
{
	struct registry_entry r;
	struct err e = { 0 };
	struct stat st;
	char bytes[3] = "";
	AUTO_FREE char *path = scene_path(state, "hutch/one/control.sock");

	create("one", &r);
	assert_int_equal(registry_connect("one", &e), -1);
	/* The sandbox lives, but does not listen yet. */
	assert_int_equal(e.kind, ERR_SYSTEM);
	AUTO_CLOSE int server = registry_listen(&r, &e);
	if (server < 0)
		fail_msg("%s", e.text);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fcntl(server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(fcntl(server, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	AUTO_CLOSE int client = registry_connect("one", &e);
	AUTO_CLOSE int peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(write(client, "hi", 2), 2);
	assert_int_equal(read(peer, bytes, 2), 2);
	assert_string_equal(bytes, "hi");
	assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
	own_close(&server);
	assert_int_equal(registry_connect("one", &e), -1);
	assert_int_equal(e.kind, ERR_SYSTEM); /* the socket has no listener */
	end(&r, REGISTRY_KEEP);
	assert_int_equal(registry_connect("one", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.remedy, "hutch ps -a"));
}

/* The supervisor writes the record, then removes the socket, then moves the folder, and ends
 * after that. */
static void test_a_sandbox_with_a_record_has_ended_for_clients(void **state)
{
	struct registry_entry r;
	struct err e;

	(void)state;
	create("one", &r);
	assert_int_equal(pwrite(r.lock, RECORD "\n", strlen(RECORD "\n"), 0),
			 strlen(RECORD "\n"));
	assert_int_equal(registry_connect("one", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	end(&r, REGISTRY_REMOVE);
}

/* The path may be longer than the 108 bytes of an address (unix(7)). */
static void test_a_socket_needs_no_short_path(void **state)
{
	AUTO_FREE char *deep = text_format("%s/%0150d", (const char *)*state, 0);
	struct registry_entry r;

	assert_int_equal(mkdir(deep, 0700) | setenv("XDG_RUNTIME_DIR", deep, 1), 0);
	create("one", &r);
	AUTO_CLOSE int server = registry_listen(&r, NULL);
	AUTO_CLOSE int client = registry_connect("one", NULL);
	assert_true(server >= 0 && client >= 0);
	end(&r, REGISTRY_REMOVE);
}

/* The path through /proc is for a working directory that cannot be entered again. */
static void test_to_connect_leaves_the_working_directory(void **state)
{
	AUTO_FREE char *closed = scene_path(state, "closed");
	AUTO_FREE char *before = getcwd(NULL, 0);
	struct registry_entry r;

	create("one", &r);
	AUTO_CLOSE int server = registry_listen(&r, NULL);
	assert_int_equal(mkdir(closed, 0700), 0);
	for (int mode = 0700; mode >= 0; mode -= 0700) {
		assert_int_equal(chdir(closed) | chmod(closed, (mode_t)mode), 0);
		AUTO_CLOSE int client = registry_connect("one", NULL);
		AUTO_FREE char *after = getcwd(NULL, 0);
		assert_true(server >= 0 && client >= 0);
		assert_string_equal(after, closed);
	}
	assert_int_equal(chmod(closed, 0700) | chdir(before), 0);
	end(&r, REGISTRY_REMOVE);
}

/* --- lists ----------------------------------------------------------------- */

static void test_without_a_state_folder_there_is_nothing(void **state)
{
	struct registry_list list;
	struct err e;

	assert_int_equal(registry_list(true, &list, &e), 0);
	assert_int_equal(list.count, 0);
	registry_list_done(&list);
	expect_absent("one");
	assert_int_equal(registry_forget("one", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_false(is_there(state, "hutch"));
}

static void test_a_waiting_sandbox_is_listed_as_waiting_until_it_is_taken(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e;

	(void)state;
	for (int is_taken = 0; is_taken < 2; is_taken++) {
		if (!is_taken)
			assert_int_equal(registry_create_waiting("one", &r, &e), 0);
		else
			registry_unset_waiting(&r);
		assert_int_equal(registry_look("one", &item, &e), 0);
		assert_int_equal(item.status, REGISTRY_BUILDING);
		assert_int_equal(item.is_waiting, !is_taken);
		registry_item_done(&item);
	}
	end(&r, REGISTRY_KEEP);
}

static void test_a_list_is_sorted_and_passes_over_what_is_none(void **state)
{
	static const char *const live[] = { "b", "c", "a" }, *const ended[] = { "z",
										"y" };
	static const char *const expected[] = { "a", "b", "c", "y", "z" };
	struct registry_entry r[3], old;
	struct registry_list list;

	for (size_t i = 0; i < ARRAY_LEN(ended); i++) {
		create(ended[i], &old);
		end(&old, REGISTRY_KEEP);
	}
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		create(live[i], &r[i]);
	scene_dir(state, "hutch/.upper-abc");
	scene_file(state, "hutch/file", "x");
	scene_link(state, "hutch/link", "a");
	assert_int_equal(registry_list(true, &list, NULL), 0);
	assert_int_equal(list.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i].name, expected[i]);
		assert_int_equal(list.items[i].status == REGISTRY_ENDED, i > 2);
	}
	registry_list_done(&list);
	registry_list_done(&list);
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		end(&r[i], REGISTRY_REMOVE);
}

static void test_a_hundred_ended_ones_are_kept(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e;

	for (int i = 0; i < REGISTRY_ENDED_MAX + 5; i++) {
		AUTO_FREE char *name = text_format("n%d", i);
		create(name, &r);
		end(&r, REGISTRY_KEEP);
	}
	assert_int_equal(count_in(state, "hutch/.ended"), REGISTRY_ENDED_MAX);
	assert_int_equal(count_in(state, "hutch/.tmp"), 0);
	assert_int_equal(registry_find_ended("n4", &item, &e), -1);
	expect_ended("n5", RECORD);
	expect_ended("n104", RECORD);
}

/* Number of sandboxes.  Five processes own 200 each, since one process may not have
 * enough descriptors for all. */
#define MANY 1000

__attribute__((noreturn)) static void own_many(int from, int done, int hold)
{
	struct registry_entry r;
	struct err e;
	char byte;

	(void)alarm(PATIENCE_S);
	for (int i = from; i < from + MANY / 5; i++) {
		AUTO_FREE char *name = text_format("n%d", i);
		CHECK(registry_create(name, &r, &e) == 0);
		CHECK(registry_set_info(&r, "{\"name\":\"n\",\"image\":\"host\"}", &e) ==
		      0);
		own_close(&r.state); /* the entry works without these two descriptors */
		own_close(&r.folder);
	}
	say(done);
	CHECK(read(hold, &byte, 1) == 0);
	_exit(0);
}

/* Processor time, since other processes may use this machine. */
static int64_t cpu_us(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void test_a_thousand_are_listed_in_time(void **state)
{
	int done[2], hold[2];
	struct registry_list list;
	char bytes[5];
	int64_t best = 1000000;

	(void)state;
	assert_int_equal(pipe2(done, O_CLOEXEC) | pipe2(hold, O_CLOEXEC), 0);
	for (int i = 0; i < 5; i++)
		if (fork() == 0) {
			(void)close(hold[1]);
			own_many(i * MANY / 5, done[1], hold[0]);
		}
	assert_int_equal(io_read_full(done[0], bytes, 5), 5);
	for (int i = 0; i < 5; i++) {
		int64_t begin = cpu_us();
		assert_int_equal(registry_list(false, &list, NULL), 0);
		int64_t took = cpu_us() - begin;
		best = took < best ? took : best;
		assert_int_equal(list.count, MANY);
		registry_list_done(&list);
	}
	print_message("%d listed in %d us\n", MANY, (int)best);
	assert_true(best < 50000);
	(void)close(hold[0]);
	(void)close(hold[1]);
	(void)close(done[0]);
	(void)close(done[1]);
	wait_for_all();
}

/* --- what is in the way ---------------------------------------------------- */

static void expect_refused(const char *name)
{
	struct registry_entry r;
	struct err e = { 0 };

	assert_int_equal(registry_create(name, &r, &e), -1);
	if (e.kind != ERR_REFUSED)
		fail_msg("%s", e.text);
	assert_non_null(strstr(e.text, name));
}

static void test_a_folder_of_another_kind_is_left_alone(void **state)
{
	struct registry_entry r;

	create("one", &r);
	scene_dir(state, "aside");
	scene_file(state, "aside/kept", "x");
	scene_link(state, "hutch/link", "../aside");
	scene_link(state, "hutch/self", "one");
	scene_link(state, "hutch/nowhere", "/nonexistent");
	scene_file(state, "hutch/file", "x");
	scene_dir(state, "hutch/open"); /* mode 0755 */
	static const char *const names[] = { "link", "self", "nowhere", "file", "open" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct registry_entry other;
		struct err e;
		expect_refused(names[i]);
		assert_int_equal(registry_open(names[i], &other, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
	}
	AUTO_FREE char *bare = scene_path(state, "hutch/bare");
	assert_int_equal(mkdir(bare, 0700), 0);
	expect_refused("bare");
	assert_true(is_there(state, "aside/kept"));
	assert_true(is_there(state, "hutch/one"));
	end(&r, REGISTRY_REMOVE);
}

static void test_a_link_in_place_of_a_file_is_not_followed(void **state)
{
	struct registry_entry r;
	struct registry_item item;
	AUTO_FREE char *info = scene_path(state, "hutch/one/info");
	AUTO_FREE char *kept = scene_path(state, "kept");
	char text[8] = "";

	create("one", &r);
	scene_file(state, "kept", "secret\n");
	scene_link(state, "hutch/one/info", "../../kept");
	scene_link(state, "hutch/one/.status", "../../kept");
	assert_int_equal(registry_look("one", &item, NULL), 0);
	assert_null(item.info);
	registry_item_done(&item);
	assert_int_equal(registry_set_info(&r, "{}", NULL), 0); /* replaces the link */
	assert_int_equal(registry_set_status(&r, REGISTRY_READY, NULL), -1);
	AUTO_CLOSE int fd = open(kept, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, 7), 7);
	assert_string_equal(text, "secret\n");
	end(&r, REGISTRY_REMOVE);
	assert_true(is_there(state, "kept"));
}

static void test_a_state_folder_that_is_a_link_or_open_is_refused(void **state)
{
	struct registry_entry r;
	struct registry_list list;
	struct err e;
	AUTO_FREE char *hutch = scene_path(state, "hutch");

	scene_dir(state, "aside");
	scene_link(state, "hutch", "aside");
	assert_int_equal(registry_create("one", &r, &e), -1);
	assert_int_equal(registry_list(false, &list, &e), -1);
	assert_int_equal(unlink(hutch), 0);
	assert_int_equal(mkdir(hutch, 0700) | chmod(hutch, 0777), 0);
	assert_int_equal(registry_create("one", &r, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(registry_list(false, &list, &e), -1);
	assert_int_equal(count_in(state, "aside"), 0);
}

static void test_folders_of_the_registry_that_are_links_are_refused(void **state)
{
	static const char *const names[] = { "hutch/.ended", "hutch/.tmp" };
	struct registry_entry r;
	struct err e;

	create("one", &r);
	end(&r, REGISTRY_REMOVE);
	scene_dir(state, "aside");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *path = scene_path(state, names[i]);
		assert_int_equal(rmdir(path), 0);
		scene_link(state, names[i], "../aside");
		assert_int_equal(registry_create("one", &r, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(count_in(state, "aside"), 0);
}

/* --- a full disk ----------------------------------------------------------- */

static void fill_disk(const char *folder)
{
	static const char bytes[4096];
	AUTO_FREE char *path = text_format("%s/filler", folder);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	CHECK(errno == ENOSPC);
}

static void use_tmpfs(const char *folder, const char *options)
{
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", folder, "tmpfs", 0, options) == 0);
	CHECK(setenv("XDG_RUNTIME_DIR", folder, 1) == 0);
}

static bool has_rest(const char *folder)
{
	void *state = (void *)(uintptr_t)folder;

	return count_in(&state, "hutch") > 2 || count_in(&state, "hutch/.tmp") > 0 ||
	       count_in(&state, "hutch/.ended") > 0;
}

/* First there is no page for the record, and then each time one inode less than
 * needed. */
static void play_full_disk(void *folder)
{
	struct registry_entry r;
	struct err e = { 0 };

	use_tmpfs(folder, "size=64k");
	fill_disk(folder);
	CHECK(registry_create("one", &r, &e) == -1);
	CHECK(e.kind == ERR_LIMIT && e.sys == ENOSPC && e.remedy[0] && !has_rest(folder));
	for (int inodes = 2; inodes < 11; inodes++) {
		AUTO_FREE char *options = text_format("nr_inodes=%d", inodes);
		use_tmpfs(folder, options);
		if (registry_create("one", &r, &e) == 0) {
			CHECK(inodes > 7 &&
			      registry_end(&r, RECORD, REGISTRY_REMOVE, &e) == 0);
			registry_done(&r);
		}
		CHECK(inodes > 7 || e.sys == ENOSPC);
		CHECK(!has_rest(folder));
	}
}

static void play_full_at_the_end(void *folder)
{
	struct registry_entry r;
	struct registry_item item;
	struct err e = { 0 };
	AUTO_FREE char *large = text_format("{\"reason\":\"%020000d\"}", 0);

	use_tmpfs(folder, "size=64k");
	CHECK(registry_create("one", &r, &e) == 0);
	fill_disk(folder);
	CHECK(registry_set_info(&r, "{}", &e) == -1 && e.sys == ENOSPC);
	CHECK(registry_set_status(&r, REGISTRY_STOPPING, &e) == -1 && e.sys == ENOSPC);
	CHECK(registry_look("one", &item, &e) == 0 && item.status == REGISTRY_BUILDING);
	CHECK(registry_end(&r, RECORD, REGISTRY_KEEP, &e) == 0);
	registry_done(&r);
	CHECK(registry_find_ended("one", &item, &e) == 0 && !strcmp(item.record, RECORD));
	/* If the disk has no room for a record, a shorter one takes its place. */
	use_tmpfs(folder, "size=64k");
	CHECK(registry_create("one", &r, &e) == 0);
	fill_disk(folder);
	CHECK(registry_end(&r, large, REGISTRY_KEEP, &e) == -1 && e.sys == ENOSPC);
	registry_done(&r);
	CHECK(registry_find_ended("one", &item, &e) == 0 &&
	      strstr(item.record, "\"unknown\""));
}

static void test_a_full_disk_leaves_nothing_behind(void **state)
{
	scene_inside(CLONE_NEWNS, 0, play_full_disk, *state);
}

static void test_a_record_finds_room_on_a_full_disk(void **state)
{
	scene_inside(CLONE_NEWNS, 0, play_full_at_the_end, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_life_from_its_making_to_its_record),
		TEST(test_a_removed_sandbox_leaves_nothing),
		TEST(test_logs_are_found_before_and_after_the_end),
		TEST(test_the_latest_of_two_with_one_name_is_found),
		TEST(test_texts_are_bounded_and_one_line),
		TEST(test_a_bad_name_is_quoted_in_one_sentence),
		TEST(test_a_name_that_somebody_has_is_refused),
		TEST(test_a_renamed_one_is_found_by_its_new_name_alone),
		TEST(test_the_socket_of_a_sandbox_is_reached_by_name),
		TEST(test_a_sandbox_with_a_record_has_ended_for_clients),
		TEST(test_a_socket_needs_no_short_path),
		TEST(test_to_connect_leaves_the_working_directory),
		TEST(test_without_a_state_folder_there_is_nothing),
		TEST(test_a_waiting_sandbox_is_listed_as_waiting_until_it_is_taken),
		TEST(test_a_list_is_sorted_and_passes_over_what_is_none),
		TEST(test_a_hundred_ended_ones_are_kept),
		TEST(test_a_thousand_are_listed_in_time),
		TEST(test_a_folder_of_another_kind_is_left_alone),
		TEST(test_a_link_in_place_of_a_file_is_not_followed),
		TEST(test_a_state_folder_that_is_a_link_or_open_is_refused),
		TEST(test_folders_of_the_registry_that_are_links_are_refused),
		TEST(test_a_full_disk_leaves_nothing_behind),
		TEST(test_a_record_finds_room_on_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
