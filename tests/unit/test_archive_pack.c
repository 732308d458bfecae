/* pack: a tree becomes a tar, also while another process changes the tree, and
 * nothing from outside of the tree gets into the tar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "archive/dir_stack.h"
#include "archive/entries.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "tests/unit/archive.h"

/* Bytes of a file that fits neither into a pipe nor into one buffer. */
#define LARGE (300u << 10)

static int setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "tree");
	scene_dir(state, "outside");
	scene_file(state, "outside/secret", "SECRET");
	return 0;
}

static void scene_large(void **state, const char *name, size_t len, char with)
{
	AUTO_FREE char *path = scene_path(state, name), *data = mem_new(len);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	memset(data, with, len);
	assert_int_equal(io_write_all(fd, data, len), 0);
}

/* Begins a pack that writes to a temporary file. */
static void begin(struct pack *p, struct told *told)
{
	*told = (struct told){ 0 };
	*p = (struct pack){ .out = memfd_create("tar", MFD_CLOEXEC),
			    .context = told,
			    .on_left_out = told_left_out };
	assert_true(p->out >= 0);
}

static void add(void **state, struct pack *p, const char *name, const char *as)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct err e;

	if (pack_add(p, AT_FDCWD, path, as, &e) < 0)
		fail_msg("%s", e.text);
}

static void end(struct pack *p)
{
	struct err e;

	assert_int_equal(pack_end(p, &e), 0);
	assert_int_equal(lseek(p->out, 0, SEEK_SET), 0);
}

static void finish(struct pack *p, struct told *told)
{
	(void)close(p->out);
	pack_done(p);
	told_done(told);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *describe(const struct tar_entry *entry)
{
	switch (entry->type) {
	case TAR_LINK:
		return text_format("%s -> %s", entry->path, entry->link);
	case TAR_HARD_LINK:
		return text_format("%s = %s", entry->path, entry->link);
	case TAR_FILE:
	case TAR_FOLDER:
		return text_copy(entry->path);
	case TAR_OTHER:
	case TAR_LABEL:
	case TAR_PAX:
	case TAR_PAX_ALL:
	case TAR_LONG_NAME:
	case TAR_LONG_LINK:
	case TAR_UNREADABLE:
		break;
	}
	return text_copy("something else");
}

/* Returns the entries of the tar, sorted, one a line. */
static char *listing(int fd)
{
	struct list lines = { 0 };
	struct entries t;
	struct err e;
	char *all = text_copy("");
	int more;

	entries_init(&t, fd);
	while ((more = entries_next(&t, &e)) > 0) {
		AUTO_FREE char *line = describe(&t.now);
		list_add(&lines, line);
	}
	assert_int_equal(more, 0);
	entries_done(&t);
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), by_text);
	for (size_t i = 0; i < lines.count; i++) {
		char *longer = text_format("%s%s\n", all, lines.items[i]);
		free(all);
		all = longer;
	}
	list_done(&lines);
	return all;
}

static void check_listing(struct pack *p, const char *expected)
{
	AUTO_FREE char *got = listing(p->out);

	assert_string_equal(got, expected);
}

/* --- what is in it ----------------------------------------------------------- */

static void make_tree(void **state)
{
	AUTO_FREE char *a = scene_path(state, "tree/a"), *hard = scene_path(state, "tree/d/h");

	scene_file(state, "tree/a", "aaa");
	scene_dir(state, "tree/d");
	scene_dir(state, "tree/d/empty");
	scene_link(state, "tree/d/l", "../../outside");
	scene_file(state, "tree/new\nline", "");
	assert_int_equal(link(a, hard), 0);
	assert_int_equal(chmod(a, 0640), 0);
}

static void check_copy(void **state, const char *of, const char *copy)
{
	struct stat a = scene_stat(state, of), b = scene_stat(state, copy);

	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_nlink, b.st_nlink);
	assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	if (S_ISREG(a.st_mode))
		assert_int_equal(a.st_size, b.st_size);
}

static void test_a_tree_is_the_same_when_unpacked(void **state)
{
	static const char *const names[] = { "", "/a", "/d", "/d/empty", "/d/l", "/d/h",
					     "/new\nline", "/large" };
	struct unpack u = { 0 };
	struct told told;
	struct pack p;
	struct err e;

	make_tree(state);
	scene_large(state, "tree/large", LARGE, 'l');
	begin(&p, &told);
	add(state, &p, "tree", "copy");
	end(&p);
	AUTO_CLOSE int root = open(*state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	u.in = p.out;
	u.root = root;
	if (unpack_all(&u, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *of = text_format("tree%s", names[i]);
		AUTO_FREE char *copy = text_format("copy%s", names[i]);
		check_copy(state, of, copy);
	}
	AUTO_FREE char *large = scene_text(state, "copy/large");
	assert_int_equal(strspn(large, "l"), LARGE);
	assert_true(u.entries == p.entries && u.bytes == p.bytes);
	assert_int_equal(p.entries, 8);
	assert_int_equal(p.bytes, 3 + LARGE);
	assert_int_equal(told.left_out.count, 0);
	finish(&p, &told);
}

static void test_names_are_as_the_caller_wants_them(void **state)
{
	struct told told;
	struct pack p;

	make_tree(state);
	begin(&p, &told);
	add(state, &p, "tree/d", ".");
	add(state, &p, "tree/d", "x/y");
	add(state, &p, "outside/secret", "z");
	end(&p);
	check_listing(&p, "empty/\nh\nl -> ../../outside\nx/y/\nx/y/empty/\nx/y/h = h\n"
			  "x/y/l -> ../../outside\nz\n");
	finish(&p, &told);
}

static void test_a_link_is_followed_only_where_asked_for(void **state)
{
	struct told told;
	struct pack p;

	scene_link(state, "to-file", "outside/secret");
	scene_link(state, "to-folder", "outside");
	scene_link(state, "outside/below", "secret");
	begin(&p, &told);
	add(state, &p, "to-file", "a");
	add(state, &p, "to-folder", "b");
	add(state, &p, "to-folder/", "c");
	p.follows = true;
	add(state, &p, "to-file", "d");
	add(state, &p, "to-folder", "e");
	end(&p);
	check_listing(&p, "a -> outside/secret\nb -> outside\nc/\nc/below -> secret\n"
			  "c/secret\nd\ne/\ne/below -> secret\ne/secret\n");
	finish(&p, &told);
}

static void test_without_links_their_files_stand_in_the_tar(void **state)
{
	AUTO_FREE char *first = scene_path(state, "tree/h1");
	AUTO_FREE char *second = scene_path(state, "tree/h2");
	AUTO_FREE char *to_folder = scene_path(state, "tree/to-folder");
	struct told told;
	struct pack p;
	struct err e;

	scene_file(state, "tree/h1", "four");
	assert_int_equal(link(first, second), 0);
	scene_link(state, "tree/to-file", "../outside/secret");
	scene_link(state, "tree/to-folder", "../outside");
	scene_link(state, "tree/to-nothing", "gone");
	begin(&p, &told);
	p.has_no_links = true;
	add(state, &p, "tree", "t");
	assert_int_equal(pack_add(&p, AT_FDCWD, to_folder, "x", &e), -1);
	assert_non_null(strstr(e.text, "a link, and not to a file"));
	end(&p);
	check_listing(&p, "t/\nt/h1\nt/h2\nt/to-file\n");
	assert_int_equal(p.bytes, strlen("four") * 2 + strlen("SECRET"));
	assert_int_equal(p.left_out, 2);
	qsort(told.left_out.items, 2, sizeof(char *), by_text);
	assert_string_equal(told.left_out.items[0],
			    "t/to-folder: a link, and not to a file");
	assert_string_equal(told.left_out.items[1],
			    "t/to-nothing: No such file or directory");
	finish(&p, &told);
}

static void test_fifos_and_sockets_are_left_out_and_told(void **state)
{
	AUTO_FREE char *fifo = scene_path(state, "tree/fifo");
	AUTO_FREE char *path = scene_path(state, "tree/socket");
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct told told;
	struct pack p;
	struct err e;

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	begin(&p, &told);
	add(state, &p, "tree", "t");
	assert_int_equal(pack_add(&p, AT_FDCWD, fifo, "f", &e), -1);
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	assert_int_equal(pack_add(&p, AT_FDCWD, "/dev/null", "f", &e), -1);
	assert_non_null(strstr(e.text, "/dev/null is a device"));
	end(&p);
	check_listing(&p, "t/\n");
	assert_int_equal(p.left_out, 2);
	qsort(told.left_out.items, 2, sizeof(char *), by_text);
	assert_string_equal(told.left_out.items[0], "t/fifo: a FIFO, which is not copied");
	assert_string_equal(told.left_out.items[1],
			    "t/socket: a socket, which is not copied");
	finish(&p, &told);
}

static void closed_to_us(void *arg)
{
	void *scene = arg;
	struct told told;
	struct pack p;
	struct err e;

	begin(&p, &told);
	AUTO_FREE char *tree = scene_path(&scene, "tree");
	AUTO_FREE char *file = scene_path(&scene, "tree/file");
	CHECK(pack_add(&p, AT_FDCWD, tree, "t", &e) == 0);
	CHECK(p.entries == 4 && p.left_out == 4);
	qsort(told.left_out.items, 4, sizeof(char *), by_text);
	CHECK(!strcmp(told.left_out.items[0], "t/file: Permission denied"));
	CHECK(!strcmp(told.left_out.items[1], "t/listed/f: Permission denied"));
	CHECK(!strcmp(told.left_out.items[2], "t/shut: Permission denied"));
	CHECK(!strcmp(told.left_out.items[3], "t/through: Permission denied"));
	CHECK(pack_add(&p, AT_FDCWD, file, "t", &e) == -1 && e.kind == ERR_REFUSED);
	finish(&p, &told);
}

/* From a folder that may be listed but not entered the walk still finds its way
 * back. */
static void test_an_unreadable_file_is_left_out_and_told(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} folders[] = { { "tree/shut", 0 }, { "tree/through", 0100 },
			{ "tree/listed", 0400 } };

	if (geteuid() == 0)
		skip(); /* root can read everything */
	AUTO_FREE char *file = scene_path(state, "tree/file");
	scene_file(state, "tree/file", "x");
	assert_int_equal(chmod(file, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		AUTO_FREE char *path = scene_path(state, folders[i].name);
		AUTO_FREE char *in = text_format("%s/f", folders[i].name);
		scene_dir(state, folders[i].name);
		scene_file(state, in, "x");
		assert_int_equal(chmod(path, folders[i].mode), 0);
	}
	scene_child(closed_to_us, *state);
}

static void test_a_named_file_must_be_there(void **state)
{
	AUTO_FREE char *path = scene_path(state, "nothing");
	struct told told;
	struct pack p;
	struct err e;

	begin(&p, &told);
	assert_int_equal(pack_add(&p, AT_FDCWD, path, "x", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, path));
	AUTO_FREE char *file = scene_path(state, "outside/secret");
	assert_int_equal(pack_add(&p, AT_FDCWD, file, ".", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(pack_add(&p, AT_FDCWD, path, "x", NULL), -1);
	end(&p);
	assert_int_equal(lseek(p.out, 0, SEEK_END), 2 * TAR_BLOCK);
	finish(&p, &told);
}

/* Files of procfs have a size of 0. */
static void test_a_file_that_does_not_say_its_size_is_read(void **state)
{
	AUTO_CLOSE int version = open("/proc/version", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *expected = NULL;
	struct told told;
	struct pack p;
	struct err e;
	size_t len;

	(void)state;
	assert_int_equal(io_read_file(version, "version", 1 << 20, &expected, &len, &e), 0);
	begin(&p, &told);
	assert_int_equal(pack_add(&p, AT_FDCWD, "/proc/version", "version", &e), 0);
	end(&p);
	AUTO_FREE char *tar = mem_new(TAR_BLOCK * 3);
	assert_true(io_read_full(p.out, tar, (size_t)TAR_BLOCK * 3) > (ssize_t)len);
	assert_true(p.bytes == len);
	const char *content = memcmp(tar + 156, "x", 1) ? tar + TAR_BLOCK : NULL;
	if (content)
		assert_memory_equal(content, expected, len);
	assert_int_equal(told.left_out.count, 0);
	finish(&p, &told);
}

/* sendfile(2) does not write to a file that is opened for appending. */
static void test_any_file_can_be_written_to(void **state)
{
	AUTO_FREE char *path = scene_path(state, "out.tar");
	struct told told;
	struct pack p;

	scene_large(state, "tree/large", LARGE, 'l');
	begin(&p, &told);
	(void)close(p.out);
	p.out = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	add(state, &p, "tree", "t");
	end(&p);
	check_listing(&p, "t/\nt/large\n");
	assert_int_equal(told.left_out.count, 0);
	finish(&p, &told);
}

static void test_an_end_that_nobody_reads_is_an_error(void **state)
{
	struct told told;
	struct pack p;
	struct err e;
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	make_tree(state);
	scene_large(state, "tree/large", LARGE, 'l');
	begin(&p, &told);
	(void)close(p.out);
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[0]);
	p.out = ends[1];
	AUTO_FREE char *tree = scene_path(state, "tree");
	assert_int_equal(pack_add(&p, AT_FDCWD, tree, "t", &e), -1);
	assert_int_equal(e.sys, EPIPE);
	finish(&p, &told);
}

/* --- deep -------------------------------------------------------------------- */

/* Makes nested folders; returns the deepest one, opened. */
static int make_deep(const char *top, int depth)
{
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < depth; i++) {
		CHECK(mkdirat(at, "d", 0755) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	return at;
}

static void pack_deep(void *arg)
{
	const struct rlimit few = { 100, 100 };
	void *scene = arg;
	AUTO_FREE char *tree = scene_path(&scene, "tree");
	struct told told;
	struct pack p;
	struct err e;
	int deepest = make_deep(tree, DIR_STACK_DEPTH_MAX);

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	begin(&p, &told);
	unsigned before = scene_open_fds();
	CHECK(pack_add(&p, AT_FDCWD, tree, "t", &e) == 0);
	CHECK(p.entries == DIR_STACK_DEPTH_MAX + 1 && p.left_out == 0);
	CHECK(mkdirat(deepest, "d", 0755) == 0);
	CHECK(pack_add(&p, AT_FDCWD, tree, "t", &e) == -1 && e.kind == ERR_LIMIT);
	CHECK(scene_open_fds() == before);
	(void)close(deepest);
	finish(&p, &told);
}

static void test_the_deepest_takes_few_descriptors(void **state)
{
	scene_child(pack_deep, *state);
}

/* --- while another process changes it ---------------------------------------- */

/* A child that packs "tree" as "t" into a pipe, and its messages. */
struct packing {
	pid_t pid;
	int out, says;
};

static void start_packing(void **state, struct packing *p)
{
	AUTO_FREE char *tree = scene_path(state, "tree");
	int out[2], says[2];

	assert_int_equal(pipe(out) | pipe(says), 0);
	p->pid = fork();
	if (p->pid == 0) {
		struct told told = { 0 };
		struct pack pack = { .out = out[1],
				     .context = &told,
				     .on_left_out = told_left_out };
		struct err e = { 0 };
		(void)close(out[0]);
		(void)alarm(PATIENCE_S);
		if (pack_add(&pack, AT_FDCWD, tree, "t", &e) == 0)
			(void)pack_end(&pack, &e);
		for (size_t i = 0; i < told.left_out.count; i++)
			(void)dprintf(says[1], "%s\n", told.left_out.items[i]);
		(void)dprintf(says[1], "%s", e.text);
		_exit(0);
	}
	(void)close(out[1]);
	(void)close(says[1]);
	p->out = out[0];
	p->says = says[0];
}

/* Reads the tar up to the header of a file with that suffix, whose content then
 * waits for room in the pipe.  Leaves that entry in t->now. */
static void read_to(struct entries *t, const char *suffix)
{
	struct err e;

	for (;;) {
		assert_int_equal(entries_next(t, &e), 1);
		size_t len = strlen(t->now.path), tail = strlen(suffix);
		if (len >= tail && !strcmp(t->now.path + len - tail, suffix))
			return;
	}
}

static size_t count_of(struct entries *t, uint8_t byte)
{
	const uint8_t *data;
	size_t count = 0;
	ssize_t got;
	struct err e;

	while ((got = entries_read(t, &data, &e)) > 0)
		for (ssize_t i = 0; i < got; i++)
			count += data[i] == byte;
	assert_int_equal(got, 0);
	return count;
}

static char *end_packing(struct packing *p)
{
	char *says = NULL;
	size_t len;
	struct err e;

	assert_int_equal(io_read_file(p->says, "it", 1 << 20, &says, &len, &e), 0);
	assert_int_equal(scene_child_code(p->pid), 0);
	(void)close(p->says);
	(void)close(p->out);
	return says;
}

static void test_a_file_that_becomes_shorter_is_filled_up(void **state)
{
	AUTO_FREE char *path = scene_path(state, "tree/large");
	struct packing p;
	struct entries t;
	struct err e;

	scene_large(state, "tree/large", 10 * LARGE, 'l');
	start_packing(state, &p);
	entries_init(&t, p.out);
	read_to(&t, "large");
	assert_int_equal(truncate(path, 8 * LARGE), 0);
	assert_true(t.now.size == 10 * LARGE);
	assert_int_equal(count_of(&t, 'l'), 8 * LARGE);
	assert_int_equal(entries_next(&t, &e), 0);
	entries_done(&t);
	AUTO_FREE char *says = end_packing(&p);
	assert_non_null(strstr(says, "t/large: became shorter"));
}

static void test_a_file_that_becomes_longer_is_cut(void **state)
{
	AUTO_FREE char *path = scene_path(state, "tree/large");
	struct packing p;
	struct entries t;
	struct err e;

	scene_large(state, "tree/large", 10 * LARGE, 'l');
	start_packing(state, &p);
	entries_init(&t, p.out);
	read_to(&t, "large");
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	assert_int_equal(count_of(&t, 'l'), 10 * LARGE);
	assert_int_equal(entries_next(&t, &e), 0);
	entries_done(&t);
	AUTO_FREE char *says = end_packing(&p);
	assert_non_null(strstr(says, "t/large: became longer"));
}

/* When pack reads the first file, it has already listed the folder.  Then the other
 * files are replaced by links, which pack must not follow. */
static void test_a_link_in_the_place_of_a_file_is_not_followed(void **state)
{
	struct packing p;
	struct entries t;
	struct err e;

	for (char c = '0'; c <= '9'; c++)
		scene_large(state, (char[]){ 't', 'r', 'e', 'e', '/', c, 0 }, LARGE, c);
	start_packing(state, &p);
	entries_init(&t, p.out);
	assert_int_equal(entries_next(&t, &e), 1); /* the folder */
	assert_int_equal(entries_next(&t, &e), 1);
	char first = t.now.path[2];
	for (char c = '0'; c <= '9'; c++) {
		AUTO_FREE char *path = text_format("%s/tree/%c", (char *)*state, c);
		if (c == first)
			continue;
		assert_int_equal(unlink(path), 0);
		if (c % 3 == 0)
			assert_int_equal(symlink("../outside/secret", path), 0);
		else if (c % 3 == 1)
			assert_int_equal(symlink("../outside", path), 0);
		else
			assert_int_equal(mkfifo(path, 0600), 0);
	}
	unsigned links = 0;
	while (entries_next(&t, &e) == 1) {
		assert_int_equal(t.now.type, TAR_LINK);
		links++;
	}
	assert_true(links >= 5);
	entries_done(&t);
	AUTO_FREE char *says = end_packing(&p);
	assert_non_null(strstr(says, "a FIFO"));
}

static void swap_for_ever(const char *tree)
{
	/* If an assertion fails, the test does not kill this process. */
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	CHECK(chdir(tree) == 0);
	for (;;) {
		(void)sys_renameat2(AT_FDCWD, "f", AT_FDCWD, "l", RENAME_EXCHANGE);
		(void)sys_renameat2(AT_FDCWD, "d", AT_FDCWD, "m", RENAME_EXCHANGE);
		(void)sys_renameat2(AT_FDCWD, "g", AT_FDCWD, "p", RENAME_EXCHANGE);
	}
}

/* A link replaces a file, a link replaces a folder, and a FIFO replaces a file,
 * again and again, also between the check and the open, which must not block. */
static void test_nothing_outside_gets_into_the_tar(void **state)
{
	AUTO_FREE char *tree = scene_path(state, "tree");
	AUTO_FREE char *fifo = scene_path(state, "tree/p");

	assert_int_equal(mkfifo(fifo, 0600), 0);
	scene_file(state, "tree/g", "ggggg");
	scene_file(state, "tree/f", "fffff");
	scene_link(state, "tree/l", "../outside/secret");
	scene_dir(state, "tree/d");
	scene_link(state, "tree/m", "../outside");
	pid_t pid = fork();
	if (pid == 0)
		swap_for_ever(tree);
	for (int i = 0; i < 6000; i++) {
		char tar[10 << 10] = "";
		struct told told;
		struct pack p;
		(void)alarm(PATIENCE_S);
		begin(&p, &told);
		add(state, &p, "tree", "t");
		end(&p);
		ssize_t len = io_read_full(p.out, tar, sizeof(tar));
		assert_true(len > 0);
		if (memmem(tar, (size_t)len, "SECRET", 6))
			fail_msg("round %d: what is outside is in the tar", i);
		finish(&p, &told);
	}
	(void)alarm(0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)scene_child_code(pid);
}

/* A folder far up, which pack no longer holds open, is moved; ".." then leads
 * to a place outside of the tree. */
static void test_a_tree_that_is_moved_is_not_left(void **state)
{
	AUTO_FREE char *tree = scene_path(state, "tree");
	AUTO_FREE char *from = scene_path(state, "tree/d/d/d");
	AUTO_FREE char *to = scene_path(state, "outside/moved");
	AUTO_CLOSE int deepest = make_deep(tree, 2 * DIR_STACK_HELD);
	AUTO_CLOSE int fd = openat(deepest, "large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static char data[LARGE];
	struct packing p;
	struct entries t;
	struct err e;
	int more;

	assert_int_equal(io_write_all(fd, data, sizeof(data)), 0);
	start_packing(state, &p);
	entries_init(&t, p.out);
	read_to(&t, "large");
	assert_int_equal(rename(from, to), 0);
	while ((more = entries_next(&t, &e)) > 0)
		assert_null(strstr(t.now.path, "secret"));
	assert_int_equal(more, -1); /* the tar was cut off, and has no end mark */
	entries_done(&t);
	AUTO_FREE char *says = end_packing(&p);
	assert_non_null(strstr(says, "was moved"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_tree_is_the_same_when_unpacked),
		TEST(test_names_are_as_the_caller_wants_them),
		TEST(test_a_link_is_followed_only_where_asked_for),
		TEST(test_without_links_their_files_stand_in_the_tar),
		TEST(test_fifos_and_sockets_are_left_out_and_told),
		TEST(test_an_unreadable_file_is_left_out_and_told),
		TEST(test_a_named_file_must_be_there),
		TEST(test_a_file_that_does_not_say_its_size_is_read),
		TEST(test_any_file_can_be_written_to),
		TEST(test_an_end_that_nobody_reads_is_an_error),
		TEST(test_the_deepest_takes_few_descriptors),
		TEST(test_a_file_that_becomes_shorter_is_filled_up),
		TEST(test_a_file_that_becomes_longer_is_cut),
		TEST(test_a_link_in_the_place_of_a_file_is_not_followed),
		TEST(test_nothing_outside_gets_into_the_tar),
		TEST(test_a_tree_that_is_moved_is_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
