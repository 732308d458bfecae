/* protect_watch: reports changes to protected files, and ignores other events. */
#include "sandbox/monitor/protect_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"

struct place {
	char *top, *folder, *file, *other;
	struct plan plan;
	struct protect_watch protect_watch;
};

static void write_file(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void mark(struct plan *p, const char *path)
{
	struct step *s = plan_add(p, STEP_BIND, path);
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	s->source = text_copy(path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->is_watched = true;
}

/* Makes FOLDER, FOLDER/config and FOLDER/hooks, which are watched, and
 * FOLDER/lock, which is not. */
static void begin(void **state, struct place *p)
{
	static int number;

	*p = (struct place){ .top = text_format("%s/%d", (char *)*state, number++) };
	p->folder = text_format("%s/git", p->top);
	p->file = text_format("%s/config", p->folder);
	p->other = text_format("%s/lock", p->folder);
	AUTO_FREE char *hooks = text_format("%s/hooks", p->folder);
	assert_int_equal(
		mkdir(p->top, 0755) | mkdir(p->folder, 0755) | mkdir(hooks, 0755), 0);
	write_file(p->file, "one");
	write_file(p->other, "two");
	plan_init(&p->plan);
	mark(&p->plan, p->folder);
	mark(&p->plan, p->file);
	mark(&p->plan, hooks);
	protect_watch_init(&p->protect_watch);
	assert_int_equal(protect_watch_post(&p->protect_watch, &p->plan, NULL), 0);
}

static void finish(struct place *p)
{
	protect_watch_done(&p->protect_watch);
	plan_done(&p->plan);
	free(p->top);
	free(p->folder);
	free(p->file);
	free(p->other);
}

/* Reads all events.  Returns whether a change of `path` is reported. */
static bool notices(struct place *p, const char *path)
{
	struct pollfd ready = { .fd = p->protect_watch.fd, .events = POLLIN };
	struct err e = { 0 };

	while (poll(&ready, 1, 0) == 1)
		if (protect_watch_look(&p->protect_watch, &e)) {
			assert_int_equal(e.kind, ERR_REFUSED);
			assert_int_equal(strncmp(e.text, path, strlen(path)), 0);
			assert_int_equal(e.text[strlen(path)], ' ');
			assert_true(p->protect_watch.is_lost);
			return true;
		}
	assert_false(p->protect_watch.is_lost);
	return false;
}

static void test_each_way_to_lose_a_name(void **state)
{
	struct place p;

	begin(state, &p);
	assert_int_equal(rename(p.other, p.file), 0);
	assert_true(notices(&p, p.file));
	finish(&p);

	begin(state, &p);
	assert_int_equal(unlink(p.file), 0);
	assert_true(notices(&p, p.file));
	finish(&p);

	/* The folder is moved away and back, which may have hidden a change. */
	begin(state, &p);
	AUTO_FREE char *aside = text_format("%s/aside", p.top);
	assert_int_equal(rename(p.file, aside) | rename(aside, p.file), 0);
	assert_true(notices(&p, p.file));
	finish(&p);

	begin(state, &p);
	AUTO_FREE char *old = text_format("%s/old", p.top);
	assert_int_equal(rename(p.folder, old) | mkdir(p.folder, 0755), 0);
	assert_true(notices(&p, p.folder));
	finish(&p);
}

static void test_harmless_changes_are_no_loss(void **state)
{
	struct place p;

	begin(state, &p);
	write_file(p.file, "longer than it was");
	assert_int_equal(chmod(p.file, 0600), 0);
	AUTO_FREE char *plain = text_format("%s/confi", p.folder);
	AUTO_FREE char *odd = text_format("%s/\xc3\xa9~", p.folder);
	AUTO_FREE char *near = text_format("%s/CONFIG", p.folder);
	write_file(plain, "");
	write_file(odd, "");
	write_file(near, "");
	assert_int_equal(
		rename(p.other, plain) | unlink(plain) | unlink(odd) | unlink(near), 0);
	assert_false(notices(&p, p.file));
	/* A new hard link to a protected file counts as a change, but only another
	 * event makes protect_watch look at the file. */
	AUTO_FREE char *link_path = text_format("%s/link~", p.folder);
	assert_int_equal(link(p.file, link_path), 0);
	assert_true(notices(&p, p.file));
	finish(&p);
}

/* Makes more events than the kernel keeps.  protect_watch then compares the files
 * themselves. */
static void overflow(struct place *p)
{
	AUTO_FREE char *a = text_format("%s/a", p->folder);
	AUTO_FREE char *b = text_format("%s/b", p->folder);
	AUTO_CLOSE int fd =
		open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	write_file(a, "");
	for (long i = 0; i < strtol(text, NULL, 10); i++)
		assert_int_equal(i % 2 ? rename(b, a) : rename(a, b), 0);
}

static void test_a_name_that_was_not_there_is_noticed_when_it_comes(void **state)
{
	struct place p;

	begin(state, &p);
	protect_watch_done(&p.protect_watch);
	AUTO_FREE char *absent = text_format("%s/absent", p.folder);
	AUTO_FREE char *beside = text_format("%s/ABSENT", p.folder);
	AUTO_FREE char *into = text_format("%s/aside", p.folder);
	list_add(&p.plan.absent, absent);
	assert_int_equal(protect_watch_post(&p.protect_watch, &p.plan, NULL), 0);
	write_file(beside, "");
	assert_int_equal(unlink(beside) | rename(p.other, into), 0);
	assert_false(notices(&p, absent));
	assert_int_equal(rename(into, absent), 0);
	assert_true(notices(&p, absent));
	/* A file that appears is reported even if it is gone again before the events
	 * are read. */
	protect_watch_done(&p.protect_watch);
	assert_int_equal(unlink(absent), 0);
	assert_int_equal(protect_watch_post(&p.protect_watch, &p.plan, NULL), 0);
	write_file(absent, "");
	assert_int_equal(unlink(absent), 0);
	assert_true(notices(&p, absent));
	finish(&p);
}

static void test_lost_events_mean_to_look(void **state)
{
	struct place p;

	begin(state, &p);
	overflow(&p);
	assert_false(notices(&p, p.file));
	finish(&p);

	begin(state, &p);
	overflow(&p);
	assert_int_equal(rename(p.other, p.file), 0);
	assert_true(notices(&p, p.file));
	finish(&p);

	/* A new file may have the inode number of the removed one, but its birth
	 * time differs. */
	begin(state, &p);
	overflow(&p);
	assert_int_equal(unlink(p.file), 0);
	write_file(p.file, "one");
	assert_true(notices(&p, p.file));
	finish(&p);
}

static void test_a_path_that_was_given_up_is_given_up_alone(void **state)
{
	struct place p;

	begin(state, &p);
	assert_int_equal(rename(p.other, p.file), 0);
	assert_true(notices(&p, p.file));
	protect_watch_give_up(&p.protect_watch);
	assert_int_equal(unlink(p.file), 0);
	assert_false(notices(&p, p.file));
	AUTO_FREE char *hooks = text_format("%s/hooks", p.folder);
	assert_int_equal(rmdir(hooks), 0);
	assert_true(notices(&p, hooks));
	finish(&p);
}

static void test_a_path_that_was_replaced_before_is_an_error(void **state)
{
	struct protect_watch s;
	struct place p;
	struct err e;

	begin(state, &p);
	assert_int_equal(rename(p.other, p.file), 0);
	protect_watch_init(&s);
	assert_int_equal(protect_watch_post(&s, &p.plan, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, "was replaced while hutch started"));
	protect_watch_done(&s);
	finish(&p);
}

static void test_nothing_to_watch_takes_nothing(void **state)
{
	struct protect_watch s;
	struct plan p;

	(void)state;
	plan_init(&p);
	protect_watch_init(&s);
	assert_int_equal(protect_watch_post(&s, &p, NULL), 0);
	assert_int_equal(s.fd, -1);
	protect_watch_done(&s);
	plan_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_way_to_lose_a_name),
		cmocka_unit_test(test_harmless_changes_are_no_loss),
		cmocka_unit_test(test_a_name_that_was_not_there_is_noticed_when_it_comes),
		cmocka_unit_test(test_lost_events_mean_to_look),
		cmocka_unit_test(test_a_path_that_was_given_up_is_given_up_alone),
		cmocka_unit_test(test_a_path_that_was_replaced_before_is_an_error),
		cmocka_unit_test(test_nothing_to_watch_takes_nothing),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
