/* apply: the changes in an upper layer are made in a folder of the host,
 * whatever the layer says and whatever other processes do to the folder
 * meanwhile. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/mem.h"
#include "rootfs-tools/changes/apply.h"
#include "rootfs-tools/changes/apply_maker.h"
#include "rootfs-tools/changes/chosen.h"
#include "rootfs-tools/changes/repository.h"
#include "tests/patience.h"
#include "tests/unit/archive.h"

#define ID	  "0123456789ab"
#define TEMPORARY APPLY_TEMPORARY ID
/* As started_ns: no file was changed after this time, so each change is permitted. */
#define LATEST	  INT64_MAX

static int setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "upper");
	scene_dir(state, "host");
	scene_dir(state, "outside");
	scene_file(state, "outside/safe", "safe");
	return 0;
}

/* The file system's clock may tick slowly, so a change counts as one made
 * meanwhile only if that clock shows a time after `started`. */
struct beginning {
	int probe;
	int64_t started_ns;
};

static int64_t changed_ns(int fd)
{
	struct stat st;

	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
}

static bool has_ticked(void *context)
{
	const struct beginning *b = context;

	return changed_ns(b->probe) > b->started_ns;
}

/* Returns a time such that a file that is changed after this call counts as changed
 * in the meantime. */
static int64_t begin(void **state)
{
	AUTO_FREE char *path = scene_path(state, "probe");
	AUTO_CLOSE int probe = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(probe >= 0);
	struct beginning b = { probe, changed_ns(probe) };
	patience_wait(has_ticked, &b);
	return b.started_ns;
}

struct heard {
	struct list done, refused;
	bool asks; /* the sender is asked for the content of each file */
	void (*hook)(void **state, const char *path); /* called after each file */
	void **state;
	const struct apply *apply;
	size_t ahead; /* how many files were made while a second process was there */
};

static void on_done(void *context, const struct meeting *m)
{
	struct heard *h = context;

	list_addf(&h->done, "%c %s", m->kind, m->path);
	h->ahead += h->apply->ahead != NULL;
	if (h->hook)
		h->hook(h->state, m->path);
}

static void on_refused(void *context, const char *path, const char *why)
{
	list_addf(&((struct heard *)context)->refused, "%s: %s", path, why);
}

static void heard_done(struct heard *h)
{
	list_done(&h->done);
	list_done(&h->refused);
}

/* Skips the test if the changes could not be read because no jail can be made, as in a
 * sandbox. */
static void skip_without_jail(int result, const struct err *e)
{
	if (result < 0 && e->kind == ERR_REFUSED && strstr(e->text, "jail"))
		skip();
}

/* Applies upper/ to host/, and returns 0 or -1 as apply_all() does. Skips the test
 * if this process may make no namespaces. */
static int apply(void **state, struct apply *a, struct heard *h)
{
	AUTO_FREE char *host = scene_path(state, "host"), *upper = scene_path(state, "upper");
	AUTO_CLOSE int dir = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int changes = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned before = scene_open_fds();
	struct repositories broken = { 0 };
	struct changes_stream t;
	struct err e = { 0 };

	assert_true(dir >= 0 && changes >= 0);
	h->state = state;
	h->apply = a;
	a->dir = dir;
	a->id = ID;
	if (!a->repositories)
		a->repositories = &broken;
	a->context = h;
	a->on_done = on_done;
	a->on_refused = on_refused;
	assert_int_equal(apply_begin(a, &e), 0);
	int result = h->asks	     ? changes_stream_begin(&t, changes, &e)
		     : a->is_probing ? changes_stream_begin_bare(&t, changes, &e)
				     : changes_stream_begin_with_content(
					       &t, changes, CHANGES_STREAM_SMALL, &e);
	if (result == 0)
		result = apply_all(a, &t, &e);
	changes_stream_done(&t);
	apply_done(a);
	repositories_done(&broken);
	skip_without_jail(result, &e);
	if (result < 0)
		(void)fprintf(stderr, "%s\n", e.text);
	assert_int_equal(scene_open_fds(), before);
	return result;
}

static void check_refused(const struct heard *h, const char *text)
{
	assert_int_equal(h->refused.count, 1);
	if (!strstr(h->refused.items[0], text))
		fail_msg("'%s' has no '%s'", h->refused.items[0], text);
}

static void gone(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(0, 0)), 0);
}

static void no_temporary(void **state, const char *folder)
{
	AUTO_FREE char *path = text_format("%s/" TEMPORARY, folder);

	assert_false(scene_has(state, path));
}

/* --- what was changed underneath -------------------------------------------------- */

static void test_a_file_that_changed_after_the_beginning_is_refused(void **state)
{
	struct heard h = { 0 };

	scene_file(state, "host/f", "was");
	struct apply a = { .started_ns = begin(state), .record = -1 };
	scene_file(state, "host/f", "theirs");
	scene_file(state, "upper/f", "mine");
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "f: was changed on this host");
	scene_check_text(state, "host/f", "theirs");
	no_temporary(state, "host");
	heard_done(&h);
}

/* A change that was not chosen is neither made nor refused, whatever is the matter with
 * it. */
static void test_only_what_was_chosen_is_applied(void **state)
{
	struct chosen chosen = { 0 };
	struct heard h = { 0 };

	scene_dir(state, "host/d");
	scene_file(state, "host/d/theirs", "was");
	struct apply a = { .started_ns = begin(state), .record = -1, .chosen = &chosen };
	scene_file(state, "host/d/theirs", "theirs");
	scene_dir(state, "upper/d");
	scene_file(state, "upper/d/theirs", "mine");
	scene_file(state, "upper/d/chosen", "mine");
	scene_file(state, "upper/other", "mine");
	scene_dir(state, "upper/new");
	scene_file(state, "upper/new/f", "mine");
	scene_dir(state, "upper/.git");
	scene_file(state, "upper/.git/HEAD", "mine");
	chosen_add(&chosen, "d/chosen");
	chosen_add(&chosen, ".git");
	chosen_end(&chosen);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(h.refused.count, 0);
	assert_int_equal(h.done.count, 3);
	scene_check_text(state, "host/d/chosen", "mine");
	scene_check_text(state, "host/.git/HEAD", "mine");
	scene_check_text(state, "host/d/theirs", "theirs");
	assert_false(scene_has(state, "host/other"));
	assert_false(scene_has(state, "host/new"));
	chosen_done(&chosen);
	heard_done(&h);
}

/* A file that already has its new content is not copied to a temporary file at all,
 * unless the file is large. */
static void test_a_change_that_the_host_has_already_is_passed_over(void **state)
{
	AUTO_FREE char *folder = scene_path(state, "host");
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct heard h = { 0 };
	struct apply a = { .started_ns = begin(state), .record = -1 };
	char event[4096];

	scene_file(state, "host/f", "same");
	scene_file(state, "upper/f", "same");
	scene_link(state, "host/l", "to");
	scene_link(state, "upper/l", "to");
	scene_dir(state, "host/d");
	scene_dir(state, "upper/d");
	gone(state, "upper/d/none");
	assert_true(inotify_add_watch(watch, folder, IN_CREATE) >= 0);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(h.refused.count, 0);
	assert_int_equal(h.done.count, 0);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	heard_done(&h);
}

static void fill(void **state, const char *name, int byte, size_t len)
{
	AUTO_FREE char *path = scene_path(state, name), *bytes = mem_new(len);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	memset(bytes, byte, len);
	assert_int_equal(io_write_all(fd, bytes, len), 0);
}

/* Small and large files, new, changed and equal ones: with content that comes
 * along, and with content that is fetched. */
static void check_contents(void **state, bool asks)
{
	const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 200000 };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct heard h = { .asks = asks }, again = { .asks = asks };
		struct apply a = { .started_ns = LATEST, .record = -1 }, b = a;
		fill(state, "upper/new", 'n', sizes[i]);
		fill(state, "upper/other", 'o', sizes[i]);
		fill(state, "upper/same", 's', sizes[i]);
		fill(state, "host/other", 'x', sizes[i]);
		fill(state, "host/same", 's', sizes[i]);
		assert_int_equal(apply(state, &a, &h), 0);
		assert_int_equal(h.done.count, sizes[i] ? 2 : 1);
		assert_int_equal(scene_stat(state, "host/new").st_size, sizes[i]);
		assert_int_equal(apply(state, &b, &again), 0);
		assert_int_equal(again.done.count + again.refused.count, 0);
		AUTO_FREE char *new = scene_path(state, "host/new");
		assert_int_equal(unlink(new), 0);
		no_temporary(state, "host");
		heard_done(&h);
		heard_done(&again);
	}
}

static void test_contents_of_any_length_are_made_what_they_are_inside(void **state)
{
	check_contents(state, false);
	check_contents(state, true);
}

/* A walk that only checks needs little content, and asks for that of larger files. */
static void test_only_content_of_the_wanted_size_comes_along(void **state)
{
	AUTO_FREE char *upper = scene_path(state, "upper");
	AUTO_CLOSE int changes = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct changes_stream t;
	struct changes_stream_item item;
	struct err e = { 0 };

	fill(state, "upper/large", 'l', CHANGES_STREAM_SMALLEST + 1);
	fill(state, "upper/small", 's', CHANGES_STREAM_SMALLEST);
	assert_int_equal(changes_stream_begin_with_content(&t, changes,
							   CHANGES_STREAM_SMALLEST, &e),
			 0);
	int first = changes_stream_next(&t, &item, &e);
	skip_without_jail(first, &e);
	assert_string_equal(item.name, "large");
	assert_int_equal(t.state, CHANGES_STREAM_ASKABLE);
	assert_int_equal(changes_stream_next(&t, &item, &e), 1);
	assert_string_equal(item.name, "small");
	assert_int_equal(t.state, CHANGES_STREAM_IN_CONTENT);
	assert_int_equal(changes_stream_next(&t, &item, &e), 0);
	changes_stream_done(&t);
}

static void test_a_bare_stream_has_no_content(void **state)
{
	AUTO_FREE char *upper = scene_path(state, "upper");
	AUTO_CLOSE int changes = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct changes_stream t;
	struct changes_stream_item item;
	struct err e = { 0 };
	const uint8_t *data;

	scene_file(state, "upper/f", "text");
	assert_int_equal(changes_stream_begin_bare(&t, changes, &e), 0);
	int first = changes_stream_next(&t, &item, &e);
	skip_without_jail(first, &e);
	assert_string_equal(item.name, "f");
	assert_int_equal(item.size, 4);
	assert_int_equal(changes_stream_read(&t, &data, &e), -1);
	assert_false(t.is_broken);
	assert_int_equal(changes_stream_next(&t, &item, &e), 0);
	changes_stream_done(&t);
}

static void test_files_of_one_apply_may_be_changed_by_the_next(void **state)
{
	AUTO_CLOSE int record = memfd_create("record", MFD_CLOEXEC);
	struct heard h = { 0 };

	scene_file(state, "host/f", "was");
	int64_t started = begin(state);
	scene_file(state, "upper/f", "first");
	struct apply a = { .started_ns = started, .record = record };
	assert_int_equal(apply(state, &a, &h), 0);
	scene_check_text(state, "host/f", "first");
	scene_file(state, "upper/f", "second");
	assert_int_equal(lseek(record, 0, SEEK_SET), 0);
	struct apply b = { .started_ns = started, .record = record };
	assert_int_equal(apply(state, &b, &h), 0);
	scene_check_text(state, "host/f", "second");
	scene_file(state, "host/f", "theirs");
	scene_file(state, "upper/f", "third");
	assert_int_equal(lseek(record, 0, SEEK_SET), 0);
	struct apply c = { .started_ns = started, .record = record };
	assert_int_equal(apply(state, &c, &h), 0);
	check_refused(&h, "was changed");
	scene_check_text(state, "host/f", "theirs");
	heard_done(&h);
}

static void test_a_folder_goes_only_if_nothing_in_it_changed(void **state)
{
	struct heard h = { 0 };

	scene_dir(state, "host/d");
	scene_dir(state, "host/d/e");
	scene_file(state, "host/d/e/f", "was");
	struct apply a = { .started_ns = begin(state), .record = -1 };
	gone(state, "upper/d");
	AUTO_FREE char *file = scene_path(state, "host/d/e/f");
	assert_int_equal(chmod(file, 0600), 0);
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "d: e/f in it was changed");
	scene_check_text(state, "host/d/e/f", "was");
	heard_done(&h);

	h = (struct heard){ 0 };
	struct apply forced = { .started_ns = a.started_ns, .record = -1, .is_forced = true };
	assert_int_equal(apply(state, &forced, &h), 0);
	assert_false(scene_has(state, "host/d"));
	heard_done(&h);
}

static void test_hutchs_own_folders_stay_even_by_force(void **state)
{
	AUTO_FREE char *cache = scene_path(state, "host/d");
	struct heard h = { 0 };

	scene_dir(state, "host/d");
	scene_dir(state, "host/d/hutch");
	scene_file(state, "host/d/hutch/program", "ours");
	scene_dir(state, "upper/d");
	scene_dir(state, "upper/d/hutch");
	scene_file(state, "upper/d/hutch/program", "evil");
	assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
	struct apply a = { .started_ns = LATEST, .record = -1, .is_forced = true };
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "is in a folder of hutch's own");
	heard_done(&h);

	h = (struct heard){ 0 };
	AUTO_FREE char *upper = scene_path(state, "upper");
	AUTO_CLOSE int at = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rm_tree_remove(at, "d");
	gone(state, "upper/d");
	struct apply b = { .started_ns = a.started_ns, .record = -1, .is_forced = true };
	assert_int_equal(apply(state, &b, &h), 0);
	check_refused(&h, "is hutch's own");
	scene_check_text(state, "host/d/hutch/program", "ours");
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	heard_done(&h);
}

/* --- all of it or nothing ------------------------------------------------------------ */

static void three_files(void **state)
{
	scene_dir(state, "upper/.git");
	scene_file(state, "upper/.git/HEAD", "new");
	scene_file(state, "upper/.git/index", "new");
	scene_file(state, "upper/z", "new");
	scene_dir(state, "host/.git");
	scene_file(state, "host/.git/HEAD", "old");
}

static void test_a_judgement_finds_what_cannot_be_and_does_nothing(void **state)
{
	struct repositories broken = { 0 };
	struct heard h = { 0 };

	three_files(state);
	struct apply a = { .started_ns = begin(state), .record = -1, .is_whole = true,
			   .is_judging = true, .repositories = &broken };
	scene_file(state, "host/.git/index", "theirs");
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, ".git/index: was changed");
	assert_int_equal(a.done, 2);
	assert_int_equal(a.changed, 1);
	assert_false(a.is_stopped);
	scene_check_text(state, "host/.git/HEAD", "old");
	assert_false(scene_has(state, "host/z"));
	heard_done(&h);

	/* `index` is refused, so HEAD is not written either, although it comes
	 * first: a repository is changed as a whole or not at all. */
	h = (struct heard){ 0 };
	struct apply b = { .started_ns = a.started_ns, .record = -1, .repositories = &broken };
	assert_int_equal(apply(state, &b, &h), 0);
	check_refused(&h, ".git: index in it was changed on this host since the sandbox began; a "
			  "repository is applied whole or not at all");
	assert_int_equal(b.refused, 2);
	assert_int_equal(b.done, 1);
	scene_check_text(state, "host/.git/HEAD", "old");
	scene_check_text(state, "host/z", "new");
	heard_done(&h);
	repositories_done(&broken);
}

/* Returns whether a probe of the changes is in doubt; it must refuse none by itself. */
static bool is_doubted(void **state, struct apply *a)
{
	struct heard h = { 0 };

	a->is_judging = a->is_probing = true;
	const int result = apply(state, a, &h);
	assert_int_equal(result, a->has_doubt ? -1 : 0);
	assert_int_equal(h.refused.count, 0);
	assert_int_equal(a->refused, 0);
	heard_done(&h);
	return a->has_doubt;
}

static void test_a_probe_needs_no_content_where_nothing_is_refused(void **state)
{
	scene_file(state, "host/f", "was");
	scene_file(state, "upper/f", "new");
	scene_file(state, "upper/other", "other");
	struct apply a = { .started_ns = LATEST };
	assert_false(is_doubted(state, &a));
	assert_int_equal(a.done, 2);
	scene_check_text(state, "host/f", "was");
	gone(state, "host/other");
}

static void test_a_probe_doubts_what_only_content_can_tell(void **state)
{
	scene_file(state, "host/f", "same");
	scene_file(state, "upper/f", "same");
	struct apply later = { .started_ns = 0 };
	assert_true(is_doubted(state, &later));
	struct list protects = { 0 };
	list_add(&protects, "/f");
	struct apply guarded = { .started_ns = LATEST, .protects = &protects };
	assert_true(is_doubted(state, &guarded));
	list_done(&protects);
}

static void test_a_probe_doubts_what_is_to_be_refused(void **state)
{
	AUTO_FREE char *fifo = scene_path(state, "upper/fifo");

	assert_int_equal(mkfifo(fifo, 0600), 0);
	struct apply a = { .started_ns = LATEST };
	assert_true(is_doubted(state, &a));
}

static void test_one_that_fails_is_the_last_and_the_others_are_named(void **state)
{
	struct heard h = { 0 };

	scene_file(state, "upper/a", "same");
	scene_file(state, "host/a", "same");
	scene_file(state, "upper/b", "new");
	scene_file(state, "upper/c", "new");
	scene_file(state, "host/c", "old");
	gone(state, "upper/d");
	scene_file(state, "host/d", "old");
	struct apply a = { .started_ns = begin(state), .record = -1, .is_whole = true,
			   .is_stopped = true };
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(h.done.count, 0);
	/* `a` has no message, since it needs no change. */
	assert_int_equal(h.refused.count, 3);
	assert_string_equal(h.refused.items[0],
			    "b: was not tried, since another one failed");
	scene_check_text(state, "host/c", "old");
	scene_check_text(state, "host/d", "old");
	assert_false(scene_has(state, "host/b"));
	heard_done(&h);
}

/* --- ahead of their turn ------------------------------------------------------------- */

/* Many files of the folder d: each third one is new, each third one changed, and each
 * third one the same. */
#define MANY 300

static void many_files(void **state)
{
	scene_dir(state, "upper/d");
	scene_dir(state, "host/d");
	for (int i = 0; i < MANY; i++) {
		AUTO_FREE char *upper = text_format("upper/d/%03d", i);
		const char *host = upper + strlen("upper/");
		AUTO_FREE char *there = text_format("host/%s", host);
		scene_file(state, upper, "new");
		if (i % 3)
			scene_file(state, there, i % 3 == 1 ? "old" : "new");
	}
}

static void check_no_temporaries(void **state)
{
	for (unsigned i = 0; i < APPLY_MAKER_JOBS; i++) {
		struct apply_name name;
		apply_maker_name(&name, "host/d/" TEMPORARY, i);
		assert_false(scene_has(state, name.text));
	}
	no_temporary(state, "host/d");
}

/* Checks that the first `count` of the many files were made, and reported in their order,
 * and that no other was touched, but `except`. */
static void check_many(void **state, const struct heard *h, int count, int except)
{
	size_t seen = 0;

	for (int i = 0; i < MANY; i++) {
		AUTO_FREE char *path = text_format("host/d/%03d", i);
		AUTO_FREE char *line = text_format("%c d/%03d", i % 3 ? 'M' : 'A', i);
		if (i == except)
			continue;
		if (i < count && i % 3 != 2)
			assert_string_equal(h->done.items[seen++], line);
		if (i < count || i % 3 == 2)
			scene_check_text(state, path, "new");
		else if (i % 3 == 1)
			scene_check_text(state, path, "old");
		else
			assert_false(scene_has(state, path));
	}
	assert_int_equal(h->done.count, seen);
	check_no_temporaries(state);
}

static void test_files_that_are_made_ahead_are_reported_in_their_order(void **state)
{
	struct heard h = { 0 };
	struct apply a = { .started_ns = LATEST, .record = -1 };

	many_files(state);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(a.refused, 0);
	assert_int_equal(h.ahead > 0, apply_maker_can_help());
	check_many(state, &h, MANY, -1);
	heard_done(&h);
}

/* Files of the top folder: no folder's end comes behind the last one. */
static void test_the_last_files_may_be_in_the_top_folder(void **state)
{
	struct heard h = { 0 };
	struct apply a = { .started_ns = LATEST, .record = -1 };

	for (int i = 0; i < MANY; i++) {
		AUTO_FREE char *upper = text_format("upper/%03d", i);
		scene_file(state, upper, "new");
	}
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(h.refused.count, 0);
	assert_int_equal(h.done.count, MANY);
	for (int i = 0; i < MANY; i++) {
		AUTO_FREE char *host = text_format("host/%03d", i);
		scene_check_text(state, host, "new");
	}
	heard_done(&h);
}

static void test_on_one_processor_no_second_process_helps(void **state)
{
	struct heard h = { 0 };
	struct apply a = { .started_ns = LATEST, .record = -1 };
	cpu_set_t all, one;

	many_files(state);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(h.ahead, 0);
	check_many(state, &h, MANY, -1);
	heard_done(&h);
}

/* Leaves two descriptors, of which a second process would take more. */
static void leave_two(void **state, const char *path)
{
	struct rlimit limit;
	int lowest;

	(void)state;
	if (strcmp(path, "d/030") != 0)
		return;
	assert_true((lowest = dup(0)) > 0);
	assert_int_equal(close(lowest), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)lowest + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_where_no_second_process_starts_an_apply_goes_on_alone(void **state)
{
	struct heard h = { .hook = leave_two };
	struct apply a = { .started_ns = LATEST, .record = -1 };
	struct rlimit limit;

	many_files(state);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	const int result = apply(state, &a, &h);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, 0);
	assert_int_equal(h.ahead, 0);
	check_many(state, &h, MANY, -1);
	heard_done(&h);
}

static void put_theirs_ahead(void **state, const char *path)
{
	if (!strcmp(path, "d/120"))
		scene_file(state, "host/d/150", "theirs");
}

/* 150 is new and is in the queue when it appears on the host, with more behind it. */
static void test_a_file_that_fails_after_it_was_made_ahead_is_the_last(void **state)
{
	struct heard h = { .hook = put_theirs_ahead };
	struct apply a = { .started_ns = LATEST, .record = -1, .is_whole = true };

	many_files(state);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_string_equal(h.refused.items[0],
			    "d/150: is being changed on this host right now");
	assert_string_equal(h.refused.items[1],
			    "d/151: was not tried, since another one failed");
	assert_int_equal(h.refused.count, 1 + (MANY - 150) / 3 * 2 - 1);
	scene_check_text(state, "host/d/150", "theirs");
	check_many(state, &h, 150, 150);
	heard_done(&h);
}

static void write_theirs_ahead(void **state, const char *path)
{
	if (!strcmp(path, "d/120"))
		scene_file(state, "host/d/151", "theirs");
}

static void test_a_file_that_is_written_after_it_was_made_ahead_is_put_back(void **state)
{
	struct heard h = { .hook = write_theirs_ahead };
	struct apply a = { .started_ns = LATEST, .record = -1 };

	many_files(state);
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "d/151: is being changed");
	scene_check_text(state, "host/d/151", "theirs");
	check_many(state, &h, MANY, 151);
	heard_done(&h);
}

static void put_item(struct buffer *to, uint32_t kind, const char *path)
{
	const bool is_file = kind == CHANGES_STREAM_FILE;
	const uint32_t size = is_file ? strlen("new") : 0, end = 0;
	const struct changes_stream_head h = { .kind = kind,
					       .flags = is_file ? CHANGES_STREAM_ALONG
								: 0,
					       .mode = 0700,
					       .size = size,
					       .path_len = (uint32_t)strlen(path) };

	assert_true(buffer_append(to, &h, sizeof(h)));
	assert_true(buffer_append(to, path, h.path_len));
	if (!is_file)
		return;
	assert_true(buffer_append(to, &size, sizeof(size)));
	assert_true(buffer_append(to, "new", size));
	assert_true(buffer_append(to, &end, sizeof(end)));
	assert_true(buffer_append(to, "", 1)); /* the content is whole */
}

/* The walk has closed the folder when it ends with the error; the files behind the start of
 * the second process are still in the queue then. */
static void test_a_stream_that_breaks_does_not_keep_back_what_was_made_ahead(void **state)
{
	AUTO_FREE char *host = scene_path(state, "host");
	AUTO_CLOSE int dir = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct repositories broken = { 0 };
	struct heard h = { .state = state };
	struct apply a = { .dir = dir,
			   .id = ID,
			   .started_ns = LATEST,
			   .record = -1,
			   .repositories = &broken,
			   .context = &h,
			   .on_done = on_done,
			   .on_refused = on_refused };
	struct changes_stream t;
	struct buffer sent;
	struct err e;
	int ends[2];

	h.apply = &a;
	scene_dir(state, "host/d");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	buffer_init(&sent, 64 << 10);
	put_item(&sent, CHANGES_STREAM_FOLDER, "d");
	for (int i = 0; i < 100; i++) {
		AUTO_FREE char *path = text_format("d/%03d", i);
		put_item(&sent, CHANGES_STREAM_FILE, path);
	}
	assert_int_equal(io_write_all(ends[1], buffer_data(&sent), buffer_len(&sent)), 0);
	buffer_done(&sent);
	assert_int_equal(close(ends[1]), 0);
	changes_stream_listen(&t, ends[0]);
	assert_int_equal(apply_begin(&a, &e), 0);
	assert_int_equal(apply_all(&a, &t, &e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	changes_stream_done(&t);
	apply_done(&a);
	assert_int_equal(h.refused.count, 0);
	assert_int_equal(h.done.count, 1 + 100);
	check_no_temporaries(state);
	heard_done(&h);
}

static void test_what_a_killed_apply_made_ahead_is_swept(void **state)
{
	AUTO_FREE char *host = scene_path(state, "host"),
		       *upper = scene_path(state, "upper");
	AUTO_CLOSE int dir = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int changes = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct apply a = { .dir = dir, .id = ID, .record = -1 };
	struct changes_stream t;
	struct err e;

	scene_dir(state, "upper/d");
	scene_dir(state, "host/d");
	scene_file(state, "host/d/" TEMPORARY, "half");
	scene_file(state, "host/d/" TEMPORARY "-0", "half");
	scene_file(state, "host/d/" TEMPORARY "-63", "half");
	scene_file(state, "host/d/other", "theirs");
	assert_int_equal(apply_begin(&a, &e), 0);
	assert_int_equal(changes_stream_begin_bare(&t, changes, &e), 0);
	const int swept = apply_sweep(&a, &t, &e);
	changes_stream_done(&t);
	apply_done(&a);
	skip_without_jail(swept, &e);
	assert_int_equal(swept, 0);
	no_temporary(state, "host/d");
	assert_false(scene_has(state, "host/d/" TEMPORARY "-0"));
	assert_false(scene_has(state, "host/d/" TEMPORARY "-63"));
	assert_true(scene_has(state, "host/d/other"));
}

/* --- in the middle ------------------------------------------------------------------ */

/* Replaces a folder of the host by a symbolic link just before its changes are made. */
static void swap(void **state, const char *path)
{
	AUTO_FREE char *folder = scene_path(state, "host/b"), *away = scene_path(state, "away"),
		       *outside = scene_path(state, "outside");

	if (!strcmp(path, "a")) {
		assert_int_equal(rename(folder, away), 0);
		assert_int_equal(symlink(outside, folder), 0);
	}
}

static void test_a_link_that_takes_a_folders_place_leads_nowhere(void **state)
{
	struct heard h = { .hook = swap };
	struct apply a = { .started_ns = begin(state), .record = -1, .is_forced = true };

	scene_dir(state, "host/b");
	scene_file(state, "upper/a", "");
	scene_dir(state, "upper/b");
	scene_file(state, "upper/b/evil", "evil");
	gone(state, "upper/b/safe");
	assert_int_equal(apply(state, &a, &h), 0);
	assert_false(scene_has(state, "outside/evil"));
	scene_check_text(state, "outside/safe", "safe");
	assert_false(scene_has(state, "away/evil"));
	heard_done(&h);
}

/* Another process writes to the file as soon as its new content is being written. */
static void write_meanwhile(void **state, int ready)
{
	AUTO_FREE char *folder = scene_path(state, "host");
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC);
	char event[4096];

	CHECK(inotify_add_watch(watch, folder, IN_CREATE) >= 0);
	CHECK(write(ready, "r", 1) == 1);
	CHECK(read(watch, event, sizeof(event)) > 0);
	AUTO_FREE char *file = scene_path(state, "host/f");
	AUTO_CLOSE int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "theirs", 6) == 6);
	_exit(0);
}

static void test_a_file_that_is_written_during_its_replacement_is_put_back(void **state)
{
	AUTO_FREE char *large = scene_path(state, "upper/f");
	struct heard h = { 0 };
	int ready[2];
	char byte;

	scene_file(state, "host/f", "was");
	scene_file(state, "upper/f", "");
	assert_int_equal(truncate(large, 256 << 20), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	struct apply a = { .started_ns = begin(state), .record = -1 };
	pid_t pid = fork();
	if (pid == 0)
		write_meanwhile(state, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(scene_child_code(pid), 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	check_refused(&h, "is being changed");
	scene_check_text(state, "host/f", "theirs");
	no_temporary(state, "host");
	heard_done(&h);
}

static void put_theirs(void **state, const char *path)
{
	if (!strcmp(path, "d"))
		scene_file(state, "host/d/f", "theirs");
}

/* The walk does not look at files in a folder that the apply has just made. */
static void test_a_file_that_appears_in_a_new_folder_is_left(void **state)
{
	struct heard h = { .hook = put_theirs };

	scene_dir(state, "upper/d");
	scene_file(state, "upper/d/f", "ours");
	struct apply a = { .started_ns = LATEST };
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "is being changed");
	scene_check_text(state, "host/d/f", "theirs");
	gone(state, "host/d/" TEMPORARY);
	heard_done(&h);
}

static void test_files_that_a_killed_apply_left_are_removed(void **state)
{
	struct heard h = { 0 };

	scene_dir(state, "host/d");
	scene_file(state, "host/" TEMPORARY, "half");
	scene_dir(state, "host/d/" TEMPORARY);
	scene_file(state, "host/d/" TEMPORARY "/in", "half");
	scene_file(state, "host/" APPLY_TEMPORARY "ba9876543210", "another's");
	struct apply a = { .started_ns = begin(state), .record = -1 };
	scene_dir(state, "upper/d");
	assert_int_equal(apply(state, &a, &h), 0);
	no_temporary(state, "host");
	no_temporary(state, "host/d");
	assert_true(scene_has(state, "host/" APPLY_TEMPORARY "ba9876543210"));
	heard_done(&h);
}

static void test_the_inside_chooses_no_temporary_name(void **state)
{
	struct heard h = { 0 };
	struct apply a = { .started_ns = begin(state), .record = -1 };

	scene_file(state, "upper/" TEMPORARY, "evil");
	scene_file(state, "upper/z", "z");
	assert_int_equal(apply(state, &a, &h), 0);
	check_refused(&h, "a name of hutch's own");
	scene_check_text(state, "host/z", "z");
	heard_done(&h);
}

/* --- kinds --------------------------------------------------------------------- */

static void test_an_opaque_folder_shows_nothing_of_the_hosts_however_deep(void **state)
{
	AUTO_FREE char *opaque = scene_path(state, "upper/d");
	struct heard h = { 0 };

	scene_dir(state, "host/d");
	scene_dir(state, "host/d/e");
	scene_file(state, "host/d/e/old", "");
	scene_file(state, "host/d/old", "");
	scene_dir(state, "upper/d");
	scene_dir(state, "upper/d/e");
	scene_file(state, "upper/d/e/new", "");
	if (setxattr(opaque, "user.overlay.opaque", "y", 1, 0) < 0)
		skip(); /* a tmpfs before 6.6 has no user.* attributes */
	struct apply a = { .started_ns = begin(state), .record = -1 };
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(h.refused.count, 0);
	assert_false(scene_has(state, "host/d/old"));
	assert_false(scene_has(state, "host/d/e/old"));
	assert_true(scene_has(state, "host/d/e/new"));
	heard_done(&h);
}

static void test_setuid_bits_are_not_made(void **state)
{
	AUTO_FREE char *tool = scene_path(state, "upper/tool");
	struct heard h = { 0 };
	struct apply a = { .started_ns = begin(state), .record = -1 };

	scene_file(state, "upper/tool", "x");
	assert_int_equal(chmod(tool, 06755), 0);
	assert_int_equal(apply(state, &a, &h), 0);
	assert_int_equal(scene_stat(state, "host/tool").st_mode & 07777, 0755);
	heard_done(&h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_that_changed_after_the_beginning_is_refused),
		TEST(test_only_what_was_chosen_is_applied),
		TEST(test_a_change_that_the_host_has_already_is_passed_over),
		TEST(test_contents_of_any_length_are_made_what_they_are_inside),
		TEST(test_only_content_of_the_wanted_size_comes_along),
		TEST(test_a_bare_stream_has_no_content),
		TEST(test_files_of_one_apply_may_be_changed_by_the_next),
		TEST(test_a_folder_goes_only_if_nothing_in_it_changed),
		TEST(test_hutchs_own_folders_stay_even_by_force),
		TEST(test_a_judgement_finds_what_cannot_be_and_does_nothing),
		TEST(test_a_probe_needs_no_content_where_nothing_is_refused),
		TEST(test_a_probe_doubts_what_only_content_can_tell),
		TEST(test_a_probe_doubts_what_is_to_be_refused),
		TEST(test_one_that_fails_is_the_last_and_the_others_are_named),
		TEST(test_files_that_are_made_ahead_are_reported_in_their_order),
		TEST(test_the_last_files_may_be_in_the_top_folder),
		TEST(test_on_one_processor_no_second_process_helps),
		TEST(test_where_no_second_process_starts_an_apply_goes_on_alone),
		TEST(test_a_file_that_fails_after_it_was_made_ahead_is_the_last),
		TEST(test_a_file_that_is_written_after_it_was_made_ahead_is_put_back),
		TEST(test_a_stream_that_breaks_does_not_keep_back_what_was_made_ahead),
		TEST(test_what_a_killed_apply_made_ahead_is_swept),
		TEST(test_a_link_that_takes_a_folders_place_leads_nowhere),
		TEST(test_a_file_that_is_written_during_its_replacement_is_put_back),
		TEST(test_a_file_that_appears_in_a_new_folder_is_left),
		TEST(test_files_that_a_killed_apply_left_are_removed),
		TEST(test_the_inside_chooses_no_temporary_name),
		TEST(test_an_opaque_folder_shows_nothing_of_the_hosts_however_deep),
		TEST(test_setuid_bits_are_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
