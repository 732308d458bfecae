/* files: a real executor reads and writes files in a real folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/patience.h"
#include "tests/unit/actor.h"
#include "tests/unit/at_home.h"

#define LAST ACTION_LAST_LINE
#define MIB  (1u << 20)

static void check_read(const char *path, uint32_t outcome, const char *content)
{
	struct act x = actor_read(&a, READ_TEXT, path, 0, LAST);

	if (x.outcome != outcome || strcmp(x.content, content) != 0)
		fail_msg("%s: outcome %u, errno %u, '%s'", path, x.outcome, x.sys,
			 x.content);
	act_done(&x);
}

static void check_write(const char *path, uint32_t outcome, const char *content)
{
	struct act x = actor_write(&a, path, content, 0, LAST);

	if (x.outcome != outcome)
		fail_msg("%s: outcome %u, errno %u", path, x.outcome, x.sys);
	act_done(&x);
}

static void test_a_file_is_read_whole_or_by_lines(void **state)
{
	static const struct {
		uint64_t first, end;
		const char *content;
	} rows[] = {
		{ 0, LAST, "one\ntwo\r\nthree" }, { 0, 1, "one\n" }, { 1, 2, "two\r\n" },
		{ 1, LAST, "two\r\nthree" },	  { 2, 9, "three" }, { 3, LAST, "" },
		{ 2, 1, "" },			  { 1, 1, "" },	     { 99, LAST, "" },
		{ LAST - 1, LAST, "" },		  { 0, 0, "" },
	};

	(void)state;
	put_text("f", "one\ntwo\r\nthree");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct act x = actor_read(&a, READ_TEXT, "f", rows[i].first, rows[i].end);
		assert_int_equal(x.outcome, OUTCOME_DONE);
		assert_string_equal(x.content, rows[i].content);
		act_done(&x);
	}
	put_text("empty", "");
	check_read("empty", OUTCOME_DONE, "");
}

static void test_a_path_is_meant_from_where_the_session_is(void **state)
{
	(void)state;
	actor_check(&a, "mkdir d; cd d; echo x >f", "", 0);
	struct act x = actor_read(&a, READ_TEXT, "f", 0, LAST);
	char *folder = text_format("%s/d", a.home), *file = text_format("%s/d/f", a.home);
	assert_string_equal(x.content, "x\n");
	assert_string_equal(x.path, file);
	assert_string_equal(x.cwd, folder);
	act_done(&x);
	x = actor_read(&a, READ_TEXT, "/nonesuch", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_NOT_FOUND);
	assert_string_equal(x.path, "/nonesuch");
	assert_string_equal(x.cwd, folder);
	act_done(&x);
	free(folder);
	free(file);
}

static void make_socket(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
}

static void test_a_file_that_is_no_text_is_named_by_its_kind(void **state)
{
	(void)state;
	put("nul", "a\0b", 3);
	put("latin", "caf\xe9 au lait, s'il vous pla\xeet", 27);
	put("ff", "a\xff", 2);
	put("utf16", "\xff\xfe" "a\0", 4);
	put("utf8", "\xef\xbb\xbf\xc3\xa9\n", 6);
	put("elf", "\x7f" "ELF\2\1\1\0\0\0\0", 11);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	make_socket("socket");
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(symlink("utf8", "link"), 0);
	check_read("nul", OUTCOME_BINARY, "");
	check_read("latin", OUTCOME_NOT_UTF8, "");
	check_read("ff", OUTCOME_BINARY, "");
	check_read("utf16", OUTCOME_NOT_UTF8, "");
	check_read("elf", OUTCOME_BINARY, "");
	check_read("utf8", OUTCOME_DONE, "\xef\xbb\xbf\xc3\xa9\n");
	check_read("link", OUTCOME_DONE, "\xef\xbb\xbf\xc3\xa9\n");
	check_read("fifo", OUTCOME_NOT_REGULAR, "");
	check_read("socket", OUTCOME_NOT_REGULAR, "");
	check_read("/dev/zero", OUTCOME_NOT_REGULAR, "");
	check_read("/dev/tty", OUTCOME_NOT_REGULAR, "");
	check_read(".", OUTCOME_IS_FOLDER, "");
	check_read("utf8/x", OUTCOME_NOT_FOUND, "");
	struct act x = actor_read(&a, READ_TEXT, "loop", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_ERROR);
	assert_int_equal(x.sys, ELOOP);
	act_done(&x);
	check_write("fifo", OUTCOME_NOT_REGULAR, "x");
	check_write("socket", OUTCOME_NOT_REGULAR, "x");
	check_write("/dev/null", OUTCOME_NOT_REGULAR, "x");
	check_write(".", OUTCOME_IS_FOLDER, "x");
	check_write("new/", OUTCOME_IS_FOLDER, "x");
	assert_int_equal(access("new", F_OK), -1);
}

static void check_error(struct act x, uint32_t sys)
{
	if (x.outcome != OUTCOME_ERROR || x.sys != sys)
		fail_msg("%s: outcome %u, errno %u", x.path, x.outcome, x.sys);
	act_done(&x);
}

/* The folder's and the file's path are each short enough, but not the two joined: a
 * truncated path could name another file. */
static void test_a_path_that_gets_too_long_is_no_path(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : '.';
	path[PATH_MAX - 2] = '\0';
	check_error(actor_read(&a, READ_TEXT, path, 0, LAST), ENAMETOOLONG);
	check_error(actor_write(&a, path, "x", 0, LAST), ENAMETOOLONG);
	size_t fits = (PATH_MAX - strlen(a.home) - 4) & ~(size_t)1;
	path[fits] = 'f';
	path[fits + 1] = '\0';
	check_write(path, OUTCOME_DONE, "x");
	check_file("f", "x\n");
}

/* Returns the controlling terminal of a process (proc(5)); 0: none. */
static int terminal_of(pid_t pid)
{
	AUTO_FREE char *path = text_format("/proc/%d/stat", pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *stat = read_all(fd);
	int terminal = -1;

	assert_int_equal(sscanf(strrchr(stat, ')') + 1, " %*c %*d %*d %*d %d", &terminal),
			 1);
	return terminal;
}

static void test_a_terminal_does_not_become_the_executor_s(void **state)
{
	AUTO_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	(void)state;
	assert_true(master >= 0);
	assert_int_equal(unlockpt(master), 0);
	check_read(ptsname(master), OUTCOME_NOT_REGULAR, "");
	check_write(ptsname(master), OUTCOME_NOT_REGULAR, "x");
	assert_int_equal(terminal_of(a.s.pid), 0);
}

static void test_a_character_at_the_sample_s_end_is_no_matter(void **state)
{
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + 1023, "\xe2\x82\xac", 3);
	text[1999] = '\0';
	put_text("f", text);
	check_read("f", OUTCOME_DONE, text);
}

/* In the executor, /proc/self would be the executor. */
static void test_files_of_processes_are_refused(void **state)
{
	static const char *const paths[] = { "/proc/self/environ", "/proc/self/maps",
					     "/proc/thread-self/comm",
					     "/proc/self/root/proc/self/status" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct act x = actor_read(&a, READ_TEXT, paths[i], 0, LAST);
		assert_int_equal(x.outcome, OUTCOME_ERROR);
		assert_int_equal(x.sys, EACCES);
		act_done(&x);
	}
	struct act x = actor_write(&a, "/proc/self/comm", "x", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_ERROR);
	assert_int_equal(x.sys, EACCES);
	act_done(&x);
	x = actor_read(&a, READ_TEXT, "/proc/cpuinfo", 0, 1);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	assert_true(x.len > 0);
	act_done(&x);
}

/* Such links lead to files that the executor has open and commands cannot
 * reach: its log folder, its own procfs. */
static void test_links_of_proc_lead_nowhere(void **state)
{
	static const char *const before[] = { "/proc/self/root", "/proc/thread-self/root",
					      "link" };
	static const char *const files[] = { "f", "none", "none/none" };

	(void)state;
	assert_int_equal(symlink("/proc/self/root", "link"), 0);
	put_text("f", "mine");
	for (size_t i = 0; i < ARRAY_LEN(before) * ARRAY_LEN(files); i++) {
		const char *file = files[i % ARRAY_LEN(files)];
		AUTO_FREE char *path = text_format(
			"%s%s/%s", before[i / ARRAY_LEN(files)], a.home, file);
		struct act x = actor_read(&a, READ_TEXT, path, 0, LAST);
		if (x.outcome != OUTCOME_ERROR || (x.sys != EACCES && x.sys != ELOOP))
			fail_msg("%s: %u, %u", path, x.outcome, x.sys);
		act_done(&x);
		x = actor_write(&a, path, "yours", 0, LAST);
		if (x.outcome != OUTCOME_ERROR || (x.sys != EACCES && x.sys != ELOOP))
			fail_msg("%s: %u, %u", path, x.outcome, x.sys);
		act_done(&x);
	}
	check_file("f", "mine");
	assert_int_equal(access("none", F_OK), -1);
	check_error(actor_read(&a, READ_BASE64, "/proc/self/exe", 0, LAST), EACCES);
}

static void test_ten_mebibytes_are_read_and_no_more(void **state)
{
	char *much = malloc(10 * MIB + 1);

	(void)state;
	for (size_t i = 0; i < 10 * MIB; i++)
		much[i] = i % 100 == 99 ? '\n' : (char)('a' + i % 26);
	much[10 * MIB] = 'x';
	put("most", much, 10 * MIB);
	put("more", much, 10 * MIB + 1);
	struct act x = actor_read(&a, READ_TEXT, "most", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	assert_int_equal(x.len, 10 * MIB);
	assert_memory_equal(x.content, much, x.len);
	act_done(&x);
	check_read("more", OUTCOME_TOO_LARGE, "");
	/* A file that is too large is refused without allocating memory for it. */
	assert_int_equal(truncate("more", (off_t)1 << 43), 0);
	check_read("more", OUTCOME_TOO_LARGE, "");
	x = actor_read(&a, READ_BASE64, "most", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	assert_int_equal(x.len, (10 * MIB + 2) / 3 * 4);
	act_done(&x);
	free(much);
}

static void test_a_long_file_is_cut_between_characters(void **state)
{
	enum { COUNT = 40000 };
	char *text = malloc(3 * COUNT + 1);

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	text[3 * COUNT] = '\0';
	put_text("f", text);
	check_read("f", OUTCOME_DONE, text);
	free(text);
}

/* Peak memory so far, in KiB. */
static unsigned long most_memory_of(pid_t pid)
{
	AUTO_FREE char *path = text_format("/proc/%d/status", pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *status = read_all(fd);
	unsigned long kib = 0;

	assert_int_equal(sscanf(strstr(status, "VmHWM:"), "VmHWM: %lu", &kib), 1);
	return kib;
}

/* If many large files are requested at once, only one at a time is in memory. */
static void test_many_files_are_answered_one_after_the_other(void **state)
{
	enum { COUNT = 16 };
	const struct read_request r = { .session = 1,
					.place = { getuid(), getgid(), "/" },
					.form = READ_TEXT,
					.end = LAST,
					.path = "f" };
	char *much = malloc(8 * MIB);
	struct buffer b;

	(void)state;
	memset(much, 'x', 8 * MIB);
	put("f", much, 8 * MIB);
	free(much);
	unsigned long before = most_memory_of(a.s.pid);
	buffer_init(&b, 10000);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(action_put_read(&b, 5000 + i, &r, NULL), 0);
	supervisor_send(&a.s, &b, NULL, 0);
	buffer_done(&b);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct act x = actor_expect(&a, 5000 + i);
		assert_int_equal(x.len, 8 * MIB);
		act_done(&x);
	}
	assert_in_range(most_memory_of(a.s.pid), 0, before + (64 << 10));
}

static void test_base64_is_what_base64_says(void **state)
{
	char bytes[70000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t len = 0; len < 70000; len = len < 5 ? len + 1 : len * 3 + 1) {
		put("f", bytes, len);
		struct act x = actor_read(&a, READ_BASE64, "f", 0, LAST);
		assert_int_equal(x.outcome, OUTCOME_DONE);
		put("got", x.content, x.len);
		act_done(&x);
		actor_check(&a, "base64 -w0 f | cmp - got", "", 0);
	}
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_a_new_file_gets_its_folders_and_a_newline(void **state)
{
	(void)state;
	check_write("d/e/f", OUTCOME_DONE, "hello");
	check_file("d/e/f", "hello\n");
	assert_int_equal(mode_of("d/e/f"), 0664);
	assert_int_equal(mode_of("d/e"), 0755);
	check_write("two", OUTCOME_DONE, "a\nb\n");
	check_file("two", "a\nb\n\n");
	check_write("none", OUTCOME_DONE, "");
	check_file("none", "\n");
	check_error(actor_write(&a, "two/below-a-file", "x", 0, LAST), ENOTDIR);
	assert_int_equal(symlink("loop", "loop"), 0);
	check_error(actor_write(&a, "loop/d/f", "x", 0, LAST), ELOOP);
	check_write("/proc/none/f", OUTCOME_NOT_FOUND, "x");
	assert_int_equal(symlink("aim", "dangling"), 0);
	check_write("dangling", OUTCOME_DONE, "x");
	check_file("aim", "x\n");
}

static void test_lines_of_a_file_are_replaced(void **state)
{
	static const struct {
		const char *content;
		uint64_t first, end;
		const char *result;
	} rows[] = {
		{ "x", 0, LAST, "x\n" },
		{ "x", 0, 1, "x\ntwo\nthree" },
		{ "x", 1, 2, "one\nx\nthree" },
		{ "x\ny", 1, 1, "one\nx\ny\ntwo\nthree" },
		{ "x", 1, LAST, "one\nx\n" },
		{ "x", 0, 0, "x\none\ntwo\nthree" },
		{ "x", 9, LAST, "one\ntwo\nthreex\n" },
		{ "x", 2, 3, "one\ntwo\nx\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_text("f", "one\ntwo\nthree");
		struct act x = actor_write(&a, "f", rows[i].content, rows[i].first,
					   rows[i].end);
		assert_int_equal(x.outcome, OUTCOME_DONE);
		check_file("f", rows[i].result);
		act_done(&x);
	}
	put("latin", "caf\xe9\n", 5);
	struct act x = actor_write(&a, "latin", "x", 1, LAST);
	assert_int_equal(x.outcome, OUTCOME_NOT_UTF8);
	act_done(&x);
	check_file("latin", "caf\xe9\n");
}

static void test_owner_mode_links_and_other_names_are_kept(void **state)
{
	struct stat before, after;

	(void)state;
	put_text("f", "old");
	assert_int_equal(chmod("f", 04751), 0);
	check_write("f", OUTCOME_DONE, "new");
	assert_int_equal(mode_of("f"), 04751);
	check_file("f", "new\n");
	/* A hard link sees the new content, too. */
	assert_int_equal(link("f", "other"), 0);
	check_write("f", OUTCOME_DONE, "newer");
	check_file("other", "newer\n");
	check_write("f", OUTCOME_DONE, "less");
	check_file("other", "less\n");
	/* The mode is kept, although a write clears the set-uid and set-gid bits. */
	assert_int_equal(chmod("f", 06755), 0);
	check_write("f", OUTCOME_DONE, "other");
	assert_int_equal(mode_of("f"), 06755);
	/* A symbolic link stays a link, and its target gets the content. */
	assert_int_equal(symlink("other", "link"), 0);
	check_write("link", OUTCOME_DONE, "newest");
	assert_int_equal(lstat("link", &before), 0);
	assert_true(S_ISLNK(before.st_mode));
	check_file("f", "newest\n");
	/* A writable file in a read-only folder is written in place. */
	put_text("g", "old");
	assert_int_equal(stat("g", &before), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown("g", 4242, 4243), 0);
		check_write("g", OUTCOME_DONE, "new");
		assert_int_equal(stat("g", &after), 0);
		assert_int_equal(after.st_uid, 4242);
		assert_int_equal(after.st_gid, 4243);
		assert_int_equal(after.st_ino, before.st_ino);
	} else {
		assert_int_equal(chmod(".", 0500), 0);
		check_write("g", OUTCOME_DONE, "new");
		assert_int_equal(chmod(".", 0700), 0);
	}
	check_file("g", "new\n");
	assert_int_equal(stat("g", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	actor_check(&a, "ls -A | cat", "f\ng\nlink\nother", 0);
}

static void test_a_group_is_kept(void **state)
{
	struct stat after;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can give the file to another group */
	put_text("f", "old");
	assert_int_equal(chown("f", 0, 4243), 0);
	check_write("f", OUTCOME_DONE, "new");
	assert_int_equal(stat("f", &after), 0);
	assert_int_equal(after.st_gid, 4243);
}

/* A replacement file lacks extended attributes, among which may be an ACL, so
 * it must get them. */
static void test_extended_attributes_are_kept(void **state)
{
	const char *name = "user.x";
	char value[4] = "";

	(void)state;
	put_text("f", "old");
	if (setxattr("f", name, "y", 1, 0) < 0 &&
	    setxattr("f", name = "trusted.x", "y", 1, 0) < 0)
		skip(); /* this file system has no such attributes */
	check_write("f", OUTCOME_DONE, "new");
	check_file("f", "new\n");
	assert_int_equal(getxattr("f", name, value, sizeof(value)), 1);
	assert_string_equal(value, "y");
}

/* A folder's default ACL may let users into new files; it must not do so for a
 * file that existed before. */
static void test_a_folder_s_acl_gets_into_no_old_file(void **state)
{
	/* user::rwx, user:4242:rwx, group::r-x, mask::rwx, other::--- (acl(5)) */
	static const uint8_t acl[] = { 2,    0,	   0,	 0, 1,	  0,	7,    0,    0xff,
				       0xff, 0xff, 0xff, 2, 0,	  7,	0,    0x92, 0x10,
				       0,    0,	   4,	 0, 5,	  0,	0xff, 0xff, 0xff,
				       0xff, 0x10, 0,	 7, 0,	  0xff, 0xff, 0xff, 0xff,
				       0x20, 0,	   0,	 0, 0xff, 0xff, 0xff, 0xff };

	(void)state;
	put_text("f", "old");
	if (setxattr(".", "system.posix_acl_default", acl, sizeof(acl), 0) < 0)
		skip(); /* this file system has no ACLs */
	check_write("f", OUTCOME_DONE, "new");
	check_file("f", "new\n");
	assert_int_equal(listxattr("f", NULL, 0), 0);
	assert_int_equal(system("test \"$(echo .hutch-*)\" = '.hutch-*'"), 0);
}

/* The temporary name that a file is first written under is predictable. */
static void test_a_file_with_the_name_of_the_twin_is_left_alone(void **state)
{
	struct stat st;

	(void)state;
	for (int is_link = 0; is_link <= 1; is_link++) {
		put_text("f", "old");
		put_text("theirs", "theirs");
		assert_int_equal(stat("f", &st), 0);
		AUTO_FREE char *twin = text_format(".hutch-%llx-%llx",
						   (unsigned long long)st.st_ino,
						   (unsigned long long)st.st_mtime);
		assert_int_equal(is_link ? symlink("theirs", twin) : link("theirs", twin),
				 0);
		check_write("f", OUTCOME_DONE, "new");
		check_file("f", "new\n");
		check_file("theirs", "theirs");
		check_file(twin, "theirs");
		assert_int_equal(unlink(twin), 0);
	}
}

/* A process that has the old file open reads the old content to its end. */
static void test_a_file_is_replaced_as_a_whole(void **state)
{
	struct stat before, after;
	DIR *dir;
	int count = 0;

	(void)state;
	put_text("f", "old");
	AUTO_CLOSE int fd = open("f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &before), 0);
	check_write("f", OUTCOME_DONE, "new and longer");
	AUTO_FREE char *got = read_all(fd);
	assert_string_equal(got, "old");
	assert_int_equal(stat("f", &after), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	/* No temporary name is left. */
	dir = opendir(".");
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	assert_int_equal(count, 3);
}

static void test_a_content_that_is_too_large_changes_nothing(void **state)
{
	char *much = malloc(6 * MIB + 1);

	(void)state;
	memset(much, 'x', 6 * MIB);
	much[6 * MIB] = '\0';
	check_write("f", OUTCOME_DONE, much);
	struct act x = actor_write(&a, "f", much, 1, LAST);
	assert_int_equal(x.outcome, OUTCOME_TOO_LARGE);
	act_done(&x);
	x = actor_read(&a, READ_TEXT, "f", 0, LAST);
	assert_int_equal(x.len, 6 * MIB + 1);
	act_done(&x);
	free(much);
}

static void test_the_rights_of_the_user_hold(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip(); /* root may read it */
	put_text("secret", "x");
	assert_int_equal(chmod("secret", 0), 0);
	struct act x = actor_read(&a, READ_TEXT, "secret", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_ERROR);
	assert_int_equal(x.sys, EACCES);
	act_done(&x);
	x = actor_write(&a, "/etc/passwd", "x", 0, LAST);
	assert_int_equal(x.outcome, OUTCOME_ERROR);
	/* EROFS: the test runs inside a sandbox of hutch. */
	assert_true(x.sys == EACCES || x.sys == EROFS);
	act_done(&x);
}

/* Where the executor has an id of its own, it reads and writes files as the
 * session's user. */
static void test_files_belong_to_the_session_s_user(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can become another user */
	put_text("root-only", "x");
	assert_int_equal(chmod("root-only", 0600), 0);
	assert_int_equal(chmod(".", 0777), 0);
	actor_open_as(&a, 2, a.home, 4001);
	struct act x = actor_expect(&a, 2);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
	a.file_session = 2;
	check_write("theirs", OUTCOME_DONE, "x");
	assert_int_equal(stat("theirs", &st), 0);
	assert_int_equal(st.st_uid, 4001);
	assert_int_equal(st.st_gid, 4001);
	/* A file request has the same rights as a command, which may have
	 * capabilities. */
	x = actor_expect(&a, actor_send_run(&a, 2, RUN_COMMAND, "cat root-only"));
	bool may = x.report.exit_code == 0;
	act_done(&x);
	check_read("root-only", may ? OUTCOME_DONE : OUTCOME_ERROR, may ? "x" : "");
	x = actor_expect(&a,
			 actor_send_run(&a, 2, RUN_COMMAND, "id -u; tty >&2; echo up"));
	assert_int_equal(strncmp(x.content, "4001\n/dev/pts/", 14), 0);
	act_done(&x);
	/* After a write and a read as another user, the executor has its own ids
	 * again. */
	a.file_session = 1;
	check_read("root-only", OUTCOME_DONE, "x");
	check_write("ours", OUTCOME_DONE, "x");
	assert_int_equal(stat("ours", &st), 0);
	assert_int_equal(st.st_uid, 0);
	a.file_session = 2;
	check_write("theirs", OUTCOME_DONE, "y");
	a.file_session = 1;
	check_write("ours-too", OUTCOME_DONE, "x");
	assert_int_equal(stat("ours-too", &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 0);
}

static struct act read_as(uint32_t uid)
{
	const struct read_request r = { .place = { uid, uid, "/" }, .form = READ_TEXT,
					.end = LAST, .path = "/etc/passwd" };
	struct buffer b;

	buffer_init(&b, 1000);
	assert_int_equal(action_put_read(&b, a.next, &r, NULL), 0);
	supervisor_send(&a.s, &b, NULL, 0);
	buffer_done(&b);
	return actor_expect(&a, a.next++);
}

static void test_a_user_that_cannot_be_become_reads_nothing(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip(); /* root may become any user */
	check_error(read_as(4001), EPERM);
}

/* Starts an executor in a mount namespace of its own. */
static void begin_with_mounts(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip(); /* mounting takes root */
	actor_end(&a);
	actor_begin(&a);
	a.file_session = 0;
	assert_int_equal(chdir(a.home), 0);
}

static char *at_home(const char *name)
{
	return text_format("%s/%s", a.home, name);
}

static void test_a_mounted_file_is_written_in_its_place(void **state)
{
	(void)state;
	begin_with_mounts();
	AUTO_FREE char *path = at_home("under");
	put_text("f", "old");
	put_text("under", "hidden");
	assert_int_equal(mount("f", "under", NULL, MS_BIND, NULL), 0);
	check_write(path, OUTCOME_DONE, "new");
	check_file("f", "new\n");
	assert_int_equal(umount("under"), 0);
	check_file("under", "hidden");
	assert_int_equal(system("test \"$(echo .hutch-*)\" = '.hutch-*'"), 0);
}

static void test_files_of_processes_are_refused_wherever_they_are(void **state)
{
	(void)state;
	begin_with_mounts();
	AUTO_FREE char *path = at_home("proc/self/comm");
	assert_int_equal(mkdir("proc", 0700), 0);
	assert_int_equal(mount("/proc", "proc", NULL, MS_BIND, NULL), 0);
	check_error(actor_read(&a, READ_TEXT, path, 0, LAST), EACCES);
	check_error(actor_write(&a, path, "x", 0, LAST), EACCES);
	assert_int_equal(umount("proc"), 0);
}

static void test_a_new_file_that_does_not_fit_is_none(void **state)
{
	(void)state;
	begin_with_mounts();
	char *much = malloc(MIB + 1);
	AUTO_FREE char *new = at_home("small/new");
	AUTO_FREE char *link = at_home("small/link");
	memset(much, 'x', MIB);
	much[MIB] = '\0';
	assert_int_equal(mkdir("small", 0700), 0);
	assert_int_equal(mount("none", "small", "tmpfs", 0, "size=64k"), 0);
	check_error(actor_write(&a, new, much, 0, LAST), ENOSPC);
	assert_int_equal(access(new, F_OK), -1);
	/* A full disk does not remove the link. */
	assert_int_equal(symlink("aim", link), 0);
	check_error(actor_write(&a, link, much, 0, LAST), ENOSPC);
	assert_int_equal(access(link, F_OK), 0);
	assert_int_equal(umount("small"), 0);
	free(much);
}

/* The file has two names, so it is written in place; it has a hole, which takes
 * up space when filled. */
static void test_a_file_that_grows_too_much_is_as_it_was(void **state)
{
	static const char *const names[] = { "small/f", "small/hole" };

	(void)state;
	begin_with_mounts();
	char *much = malloc(MIB + 1);
	memset(much, 'x', MIB);
	assert_int_equal(mkdir("small", 0700), 0);
	assert_int_equal(mount("none", "small", "tmpfs", 0, "size=64k"), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *path = at_home(names[i]);
		put_text(path, "as it was\n");
		assert_int_equal(link(path, "small/other"), 0);
		much[i ? 100000 : MIB] = '\0';
		if (i)
			assert_int_equal(truncate(path, 200000), 0);
		check_error(actor_write(&a, path, much, 0, LAST), ENOSPC);
		assert_int_equal(truncate(path, 10), 0);
		check_file("small/other", "as it was\n");
		assert_int_equal(unlink("small/other"), 0);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(umount("small"), 0);
	free(much);
}

/* The executor has no capability to read everything.  This test is the last,
 * since this process never regains what it drops. */
static void test_a_file_is_read_as_the_session_s_user(void **state)
{
	(void)state;
	if (prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) < 0 ||
	    prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0) < 0)
		skip(); /* dropping them takes root */
	actor_end(&a);
	actor_start(&a);
	assert_int_equal(chdir(a.home), 0);
	assert_int_equal(chmod(".", 0777), 0);
	put_text("root-only", "x");
	actor_open_as(&a, 2, a.home, 4001);
	struct act x = actor_expect(&a, 2);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
	a.file_session = 2;
	check_error(actor_read(&a, READ_TEXT, "root-only", 0, LAST), EACCES);
	check_error(actor_write(&a, "root-only", "y", 0, LAST), EACCES);
	a.file_session = 1;
	check_read("root-only", OUTCOME_DONE, "x");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_is_read_whole_or_by_lines),
		TEST(test_a_path_is_meant_from_where_the_session_is),
		TEST(test_a_file_that_is_no_text_is_named_by_its_kind),
		TEST(test_a_path_that_gets_too_long_is_no_path),
		TEST(test_a_terminal_does_not_become_the_executor_s),
		TEST(test_a_character_at_the_sample_s_end_is_no_matter),
		TEST(test_files_of_processes_are_refused),
		TEST(test_links_of_proc_lead_nowhere),
		TEST(test_ten_mebibytes_are_read_and_no_more),
		TEST(test_a_long_file_is_cut_between_characters),
		TEST(test_many_files_are_answered_one_after_the_other),
		TEST(test_base64_is_what_base64_says),
		TEST(test_a_new_file_gets_its_folders_and_a_newline),
		TEST(test_lines_of_a_file_are_replaced),
		TEST(test_owner_mode_links_and_other_names_are_kept),
		TEST(test_a_group_is_kept),
		TEST(test_extended_attributes_are_kept),
		TEST(test_a_folder_s_acl_gets_into_no_old_file),
		TEST(test_a_file_with_the_name_of_the_twin_is_left_alone),
		TEST(test_a_file_is_replaced_as_a_whole),
		TEST(test_a_content_that_is_too_large_changes_nothing),
		TEST(test_the_rights_of_the_user_hold),
		TEST(test_files_belong_to_the_session_s_user),
		TEST(test_a_user_that_cannot_be_become_reads_nothing),
		TEST(test_a_mounted_file_is_written_in_its_place),
		TEST(test_files_of_processes_are_refused_wherever_they_are),
		TEST(test_a_new_file_that_does_not_fit_is_none),
		TEST(test_a_file_that_grows_too_much_is_as_it_was),
		TEST(test_a_file_is_read_as_the_session_s_user),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
