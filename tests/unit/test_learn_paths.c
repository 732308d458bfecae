/* learn_paths: finds the volumes that a policy needs, from the paths that a traced
 * command used, here in a folder of the test. */
#include "sandbox/learn/learn_paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/protect.h"
#include "sandbox/learn/learn_later.h"
#include "sandbox/monitor/trace_set.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"

struct world {
	const char *top; /* borrowed: the test's folder, which is also a home */
	struct plan plain;
	struct list also, homes, own, secrets, autos;
	struct protect *later;
	struct trace_set seen;
	struct wishes got;
};

static void begin(struct world *w, const char *top)
{
	*w = (struct world){ .top = top };
	plan_init(&w->plain);
	(void)plan_add(&w->plain, STEP_ROOT, "/");
	(void)plan_add(&w->plain, STEP_BIND, "/usr");
	(void)plan_add(&w->plain, STEP_SCRATCH, "/tmp");
	(void)plan_add(&w->plain, STEP_FILE, "/etc/passwd");
	list_add(&w->also, top);
	list_add(&w->homes, top);
	list_addf(&w->own, "%s/own", top);
	list_addf(&w->secrets, "%s/.ssh", top);
	w->later = learn_later_names();
}

static void end(struct world *w)
{
	plan_done(&w->plain);
	list_done(&w->also);
	list_done(&w->homes);
	list_done(&w->own);
	list_done(&w->secrets);
	list_done(&w->autos);
	trace_set_done(&w->seen);
	wishes_done(&w->got);
	protect_free(w->later);
}

/* Makes a file below the world's top folder, with the folders above it; if the name
 * ends in '/', it is a folder. */
static void make(const struct world *w, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", w->top, name);

	for (char *at = strchr(path + strlen(w->top) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
	AUTO_CLOSE int fd = path[strlen(path) - 1] == '/' ? -1
							  : open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0 || path[strlen(path) - 1] == '/');
}

static void use(struct world *w, const char *name, unsigned how)
{
	AUTO_FREE char *path = *name == '/' ? text_copy(name)
					    : text_format("%s%s%s", w->top, *name ? "/" : "", name);

	trace_set_add(&w->seen, path, how);
}

/* Compares all volumes of the policy with a list of "NAME r", "NAME w" and "NAME e",
 * where a folder's name ends in '/'. */
static void expect(struct world *w, const char *all)
{
	const struct learn_facts facts = { &w->plain,	&w->also,  &w->homes, &w->own,
					   &w->secrets, &w->autos, w->later };
	struct list said = { 0 };

	learn_paths(&facts, &w->seen, &w->got);
	for (size_t i = 0; i < w->got.count; i++) {
		const struct wish *one = &w->got.items[i];
		const bool is_in = !strncmp(one->path, w->top, strlen(w->top));
		list_addf(&said, "%s%s %c", one->path + (is_in ? strlen(w->top) : 0),
			  one->is_folder ? "/" : "", "-erw"[one->mode]);
	}
	AUTO_FREE char *text = list_join(&said, 0, ", ");
	assert_string_equal(text, all);
	list_done(&said);
}

static void test_used_paths_are_shown_and_no_more(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "a/read");
	make(&w, "a/written");
	make(&w, "a/looked");
	make(&w, "a/unused");
	make(&w, "listed/x");
	make(&w, "entered/y");
	use(&w, "a/read", TRACE_SET_READ | TRACE_SET_LOOK);
	use(&w, "a/written", TRACE_SET_WRITE);
	use(&w, "a/looked", TRACE_SET_LOOK);
	use(&w, "a", TRACE_SET_LOOK);
	use(&w, "listed", TRACE_SET_READ);
	use(&w, "listed/x", TRACE_SET_READ);
	use(&w, "entered", TRACE_SET_LOOK);
	use(&w, "nowhere", TRACE_SET_READ);
	use(&w, "nowhere/x", TRACE_SET_CREATE | TRACE_SET_WRITE);
	use(&w, "/usr/bin/env", TRACE_SET_READ);
	use(&w, "/tmp/mine", TRACE_SET_READ);
	use(&w, "/etc/passwd", TRACE_SET_READ);
	use(&w, "/etc", TRACE_SET_READ);
	use(&w, "/", TRACE_SET_READ);
	expect(&w, "/a/looked r, /a/read r, /a/written w, /entered/ e, /listed/ r");
	end(&w);
}

static void test_a_script_brings_the_program_that_it_names(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "s/script");
	make(&w, "i/inner");
	make(&w, "i/last");
	for (int i = 0; i < 2; i++) {
		AUTO_FREE char *path = text_format("%s/%s", w.top, i ? "i/inner" : "s/script");
		AUTO_FREE char *line = text_format("#! %s/i/../i/%s -x\n", w.top,
						   i ? "last" : "inner");
		AUTO_CLOSE int fd = open(path, O_WRONLY);
		assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	}
	use(&w, "s/script", TRACE_SET_READ | TRACE_SET_EXECUTE);
	expect(&w, "/i/inner r, /i/last r, /s/script r");
	end(&w);
}

static void test_a_name_that_is_changed_asks_for_its_folder(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "made/");
	make(&w, "moved/from");
	make(&w, "to/");
	make(&w, "gone/x");
	make(&w, "kept/x");
	use(&w, "made/new", TRACE_SET_CREATE | TRACE_SET_WRITE);
	use(&w, "moved/from", TRACE_SET_REMOVE);
	use(&w, "to/here", TRACE_SET_PLACE);
	use(&w, "gone/x", TRACE_SET_REMOVE);
	use(&w, "kept/never", TRACE_SET_REMOVE); /* rm -f */
	use(&w, "kept", TRACE_SET_CREATE | TRACE_SET_LOOK); /* mkdir -p */
	expect(&w, "/gone/ w, /kept/ e, /made/ w, /moved/ w, /to/ w");
	end(&w);
}

static void use_many(struct world *w, const char *folder, int count, unsigned how)
{
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *name = text_format("%s/%d", folder, i);
		make(w, name);
		use(w, name, how);
	}
}

static void test_many_of_a_folder_become_it_by_mode(void **state)
{
	struct world w;

	begin(&w, *state);
	use_many(&w, "nine", LEARN_TOGETHER + 1, TRACE_SET_READ);
	use_many(&w, "write", LEARN_TOGETHER + 1, TRACE_SET_WRITE);
	use_many(&w, "mixed", LEARN_TOGETHER + 1, TRACE_SET_READ);
	make(&w, "mixed/w");
	use(&w, "mixed/w", TRACE_SET_WRITE);
	make(&w, "nine/deep/x");
	use(&w, "nine/deep/x", TRACE_SET_READ);
	use_many(&w, "two", 2, TRACE_SET_READ);
	expect(&w, "/mixed/ r, /mixed/w w, /nine/ r, /two/0 r, /two/1 r, /write/ w");
	end(&w);
}

static void test_as_many_as_are_let_stand_stay_by_themselves(void **state)
{
	struct world w;

	begin(&w, *state);
	use_many(&w, "f", LEARN_TOGETHER, TRACE_SET_READ);
	make(&w, "f/w");
	use(&w, "f/w", TRACE_SET_WRITE);
	expect(&w, "/f/0 r, /f/1 r, /f/2 r, /f/3 r, /f/4 r, /f/5 r, /f/6 r, /f/7 r, /f/w w");
	end(&w);
}

static void test_folders_are_joined_upwards_and_never_to_a_home(void **state)
{
	struct world w;

	begin(&w, *state);
	for (int i = 0; i <= LEARN_TOGETHER; i++) {
		AUTO_FREE char *inner = text_format("p/%d", i);
		use_many(&w, inner, LEARN_TOGETHER + 1, TRACE_SET_READ);
	}
	expect(&w, "/p/ r");
	end(&w);

	begin(&w, *state);
	for (int i = 0; i <= LEARN_TOGETHER; i++) {
		AUTO_FREE char *name = text_format("h%d", i);
		make(&w, name);
		use(&w, name, TRACE_SET_READ);
	}
	use(&w, "", TRACE_SET_READ);
	expect(&w, "/h0 r, /h1 r, /h2 r, /h3 r, /h4 r, /h5 r, /h6 r, /h7 r, /h8 r");
	assert_int_equal(w.got.left[LEFT_WIDE].count, 1);
	assert_string_equal(w.got.left[LEFT_WIDE].items[0], w.top);
	end(&w);
}

static void test_a_file_that_is_made_in_a_home_is_told_by_its_name(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "old");
	use(&w, "new", TRACE_SET_CREATE | TRACE_SET_WRITE);
	use(&w, "old", TRACE_SET_WRITE | TRACE_SET_PLACE);
	expect(&w, "/old w");
	AUTO_FREE char *fresh = text_format("%s/new", w.top);
	AUTO_FREE char *old = text_format("%s/old", w.top);
	assert_int_equal(w.got.left[LEFT_MADE].count, 2);
	assert_string_equal(w.got.left[LEFT_MADE].items[0], fresh);
	assert_string_equal(w.got.left[LEFT_MADE].items[1], old);
	end(&w);
}

/* The home is a link, as /home is on some hosts, or a bind mount. */
static void test_a_home_is_one_by_any_of_its_names(void **state)
{
	struct world w;

	begin(&w, *state);
	list_done(&w.homes); /* only $top/var/u counts as a home in this test */
	list_addf(&w.homes, "%s/var/u", w.top);
	list_addf(&w.secrets, "%s/var/u/.ssh", w.top);
	make(&w, "var/u/.ssh/id");
	make(&w, "var/u/x");
	AUTO_FREE char *link = text_format("%s/home", w.top);
	assert_int_equal(symlink("var", link), 0);
	use(&w, "home/u", TRACE_SET_READ);
	use(&w, "home/u/x", TRACE_SET_READ);
	use(&w, "home/u/new", TRACE_SET_CREATE);
	use(&w, "home/u/.ssh/id", TRACE_SET_READ);
	expect(&w, "/home/u/.ssh/id r, /home/u/x r");
	assert_int_equal(w.got.left[LEFT_WIDE].count, 1);
	assert_int_equal(w.got.left[LEFT_MADE].count, 1);
	assert_int_equal(w.got.secrets.count, 1);
	end(&w);
}

static void test_folders_of_an_automounter_are_not_looked_at(void **state)
{
	struct world w;

	begin(&w, *state);
	list_addf(&w.autos, "%s/net", w.top);
	make(&w, "net/host/x");
	use(&w, "net/host/x", TRACE_SET_READ | TRACE_SET_EXECUTE);
	expect(&w, "");
	assert_int_equal(w.got.left[LEFT_AUTO].count, 1);
	end(&w);
}

/* Opening a FIFO would be noticed at its other end. */
static void test_a_fifo_that_was_executed_is_not_opened(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "d/");
	AUTO_FREE char *path = text_format("%s/d/fifo", w.top);
	assert_int_equal(mkfifo(path, 0755), 0);
	AUTO_CLOSE int events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	assert_true(inotify_add_watch(events, path, IN_OPEN) >= 0);
	use(&w, "d/fifo", TRACE_SET_READ | TRACE_SET_EXECUTE);
	make(&w, "d/script");
	AUTO_FREE char *script = text_format("%s/d/script", w.top);
	AUTO_CLOSE int fd = open(script, O_WRONLY);
	assert_true(dprintf(fd, "#!%s\n", path) > 0);
	use(&w, "d/script", TRACE_SET_READ | TRACE_SET_EXECUTE);
	expect(&w, "/d/script r");
	char event[512];
	assert_int_equal(read(events, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	end(&w);
}

static void test_an_unreadable_path_is_not_shown(void **state)
{
	struct world w;

	if (geteuid() == 0)
		skip(); /* root may read everything */
	begin(&w, *state);
	make(&w, "d/closed");
	make(&w, "d/open");
	AUTO_FREE char *path = text_format("%s/d/closed", w.top);
	assert_int_equal(chmod(path, 0), 0);
	use(&w, "d/closed", TRACE_SET_READ);
	use(&w, "d/open", TRACE_SET_READ);
	expect(&w, "/d/open r");
	assert_int_equal(w.got.left[LEFT_CLOSED].count, 1);
	end(&w);
}

static void test_a_secret_is_shown_by_itself_and_named(void **state)
{
	struct world w;

	begin(&w, *state);
	use_many(&w, ".ssh", LEARN_TOGETHER + 2, TRACE_SET_READ);
	make(&w, ".ssh/sub/x");
	use(&w, ".ssh", TRACE_SET_READ);
	use(&w, ".ssh/sub", TRACE_SET_READ);
	use(&w, ".ssh/new", TRACE_SET_CREATE | TRACE_SET_WRITE);
	use(&w, ".sshd", TRACE_SET_READ);
	expect(&w, "/.ssh/0 r, /.ssh/1 r, /.ssh/2 r, /.ssh/3 r, /.ssh/4 r, /.ssh/5 r, "
		   "/.ssh/6 r, /.ssh/7 r, /.ssh/8 r, /.ssh/9 r, /.ssh/sub/ e");
	assert_int_equal(w.got.secrets.count, 11);
	assert_int_equal(w.got.left[LEFT_WIDE].count, 2);
	end(&w);
}

static void test_folders_of_hutch_are_not_shown(void **state)
{
	struct world w;

	begin(&w, *state);
	make(&w, "own/x");
	use(&w, "own/x", TRACE_SET_READ);
	use(&w, "own", TRACE_SET_READ);
	use(&w, "own/new", TRACE_SET_CREATE);
	expect(&w, "");
	assert_int_equal(w.got.left[LEFT_OWN].count, 2);
	end(&w);
}

static void test_a_path_that_no_policy_can_say_is_left_out(void **state)
{
	static const char *const names[] = { "a:b", "new\nline", "esc\033", "no\xff", "del\x7f" };
	struct world w;

	begin(&w, *state);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		make(&w, names[i]);
		use(&w, names[i], TRACE_SET_READ);
	}
	make(&w, "quo\"te");
	use(&w, "quo\"te", TRACE_SET_READ);
	expect(&w, "/quo\"te r");
	assert_int_equal(w.got.left[LEFT_NAME].count, ARRAY_LEN(names));
	end(&w);
}

static void test_there_is_a_bound_on_mounts(void **state)
{
	struct world w;
	char name[32];

	begin(&w, *state);
	make(&w, ".ssh/");
	for (int i = 0; i < LEARN_MOUNTS + 3; i++) {
		(void)snprintf(name, sizeof(name), ".ssh/%d", i);
		make(&w, name);
		use(&w, name, TRACE_SET_READ);
	}
	const struct learn_facts facts = { &w.plain,   &w.also,	 &w.homes, &w.own,
					   &w.secrets, &w.autos, w.later };
	learn_paths(&facts, &w.seen, &w.got);
	assert_int_equal(w.got.count, LEARN_MOUNTS);
	assert_int_equal(w.got.left[LEFT_MANY].count, 3);
	end(&w);
}

static void test_a_file_that_runs_later_is_told_where_it_is_writable(void **state)
{
	static const struct {
		const char *made, *used, *told; /* NULL: nothing */
		unsigned how;
	} rows[] = {
		{ ".bashrc", ".bashrc", ".bashrc", TRACE_SET_WRITE },
		{ ".bashrc", ".bashrc", NULL, TRACE_SET_READ },
		{ ".vimrc", ".vimrc", ".vimrc", TRACE_SET_WRITE },
		{ ".gitconfig", ".gitconfig", ".gitconfig", TRACE_SET_WRITE },
		{ ".config/autostart/", ".config/autostart/x", ".config/autostart", TRACE_SET_CREATE },
		{ ".local/bin/", ".local/bin/x", ".local/bin", TRACE_SET_CREATE },
		{ "p/.git/hooks/", "p/.git/x", "p/.git", TRACE_SET_CREATE },
		{ "p/.git/hooks/", "p/x", "p/.git/hooks", TRACE_SET_CREATE },
		{ "p/", "p/x", NULL, TRACE_SET_CREATE },
		{ ".cache/", ".cache/x", NULL, TRACE_SET_CREATE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *top = text_format("%s/%zu", (const char *)*state, i);
		struct world w;
		begin(&w, top);
		assert_int_equal(mkdir(top, 0755), 0);
		make(&w, rows[i].made);
		use(&w, rows[i].used, rows[i].how);
		const struct learn_facts facts = { &w.plain,   &w.also,	 &w.homes, &w.own,
						   &w.secrets, &w.autos, w.later };
		learn_paths(&facts, &w.seen, &w.got);
		AUTO_FREE char *told =
			text_format("%s/%s", top, rows[i].told ? rows[i].told : "");
		assert_int_equal(w.got.later.count, rows[i].told != NULL);
		if (rows[i].told)
			assert_string_equal(w.got.later.items[0], told);
		end(&w);
	}
}

static void test_the_kernels_own_is_told_once_and_not_shown(void **state)
{
	struct world w;

	begin(&w, *state);
	const bool has_sys = access("/sys", F_OK) == 0; /* a sandbox has none */
	use(&w, "/proc", TRACE_SET_LOOK);
	use(&w, "/proc/self/status", TRACE_SET_READ);
	use(&w, "/sys/kernel", TRACE_SET_READ);
	expect(&w, "");
	assert_int_equal(w.got.left[LEFT_KERNEL].count, has_sys ? 2 : 1);
	assert_string_equal(w.got.left[LEFT_KERNEL].items[0], "/proc");
	end(&w);
}

#define IN_SCENE(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(test_used_paths_are_shown_and_no_more),
		IN_SCENE(test_a_file_that_runs_later_is_told_where_it_is_writable),
		IN_SCENE(test_the_kernels_own_is_told_once_and_not_shown),
		IN_SCENE(test_a_script_brings_the_program_that_it_names),
		IN_SCENE(test_a_name_that_is_changed_asks_for_its_folder),
		IN_SCENE(test_many_of_a_folder_become_it_by_mode),
		IN_SCENE(test_as_many_as_are_let_stand_stay_by_themselves),
		IN_SCENE(test_folders_are_joined_upwards_and_never_to_a_home),
		IN_SCENE(test_a_file_that_is_made_in_a_home_is_told_by_its_name),
		IN_SCENE(test_a_home_is_one_by_any_of_its_names),
		IN_SCENE(test_folders_of_an_automounter_are_not_looked_at),
		IN_SCENE(test_a_fifo_that_was_executed_is_not_opened),
		IN_SCENE(test_an_unreadable_path_is_not_shown),
		IN_SCENE(test_a_secret_is_shown_by_itself_and_named),
		IN_SCENE(test_folders_of_hutch_are_not_shown),
		IN_SCENE(test_a_path_that_no_policy_can_say_is_left_out),
		IN_SCENE(test_there_is_a_bound_on_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
