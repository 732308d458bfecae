/* plugin_process: the end of a plugin's process. */
#include "executor/plugin/plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "executor/plugin/plugins.h"
#include "executor/process/processes.h"
#include "executor/process/spawn.h"
#include "executor/session/sessions.h"
#include "executor/wire/send_queue.h"

#define CALL   7
#define LINE   "{\"call\":7,\"output\":\"\"}\n"
#define ANSWER "{\"call\":7,\"answer\":{}}\n"
/* As much as the largest pipe of an ordinary user holds (pipe(7)). */
#define PIPE_MAX (1u << 20)

struct world {
	struct send_queue replies;
	struct processes processes;
	struct sessions sessions;
	struct plugins set;
	struct plugin plugin;
	int seen; /* shares its offset with the plugin's `out` */
};

static int world_setup(void **state)
{
	static const char manifest[] = "{\"name\":\"p\",\"version\":\"1\",\"command\":[\"x\"],"
				       "\"actions\":{\"a\":{\"answer\":{}}}}";
	struct world *w = calloc(1, sizeof(*w));
	struct err e;

	w->set = (struct plugins){ .replies = &w->replies, .processes = &w->processes,
				   .sessions = &w->sessions, .proc = -1 };
	w->plugin = (struct plugin){ .set = &w->set, .id = 1, .in = -1, .out = -1,
				     .errors = -1, .status = -1, .phase = PLUGIN_UP };
	assert_int_equal(
		manifest_read(manifest, strlen(manifest), "p", &w->plugin.manifest, &e), 0);
	w->plugin.name = text_copy("p");
	plugin_let_go(&w->plugin);
	w->plugin.call = (struct call){ .id = CALL, .is_sent = true,
					.action = w->plugin.manifest.actions[0].name };
	w->plugin.end = (struct failed){ .stage = SPAWN_ENDED };
	w->seen = memfd_create("lines", MFD_CLOEXEC);
	w->plugin.out = dup(w->seen);
	*state = w;
	return 0;
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	plugin_let_go(&w->plugin);
	buffer_done(&w->plugin.to);
	buffer_done(&w->plugin.from);
	free(w->plugin.name);
	free(w->plugin.failure);
	manifest_done(&w->plugin.manifest);
	send_queue_done(&w->replies);
	(void)close(w->seen);
	free(w);
	return 0;
}

/* Puts lines of more than `size` bytes into the place of the pipe, and `last` behind. */
static void fill(const struct world *w, size_t size, const char *last)
{
	struct buffer b;

	buffer_init(&b, 8 * PIPE_MAX);
	while (buffer_len(&b) < size)
		assert_true(buffer_append(&b, LINE, strlen(LINE)));
	assert_true(buffer_append(&b, last, strlen(last)));
	assert_int_equal(write(w->seen, buffer_data(&b), buffer_len(&b)), buffer_len(&b));
	assert_int_equal(lseek(w->seen, 0, SEEK_SET), 0);
	buffer_done(&b);
}

static void test_the_last_lines_of_a_full_pipe_are_read(void **state)
{
	struct world *w = *state;

	fill(w, PIPE_MAX - strlen(LINE ANSWER), ANSWER);
	plugin_ended(&w->plugin, 0, 0);
	assert_int_equal(w->plugin.call.id, 0);
	assert_int_equal(w->replies.first->type, MSG_CONTENT);
	assert_int_equal(w->replies.first->len, 0); /* the answer, and not an error */
	assert_int_equal(w->plugin.phase, PLUGIN_OFF);
}

/* A process that is no descendant may have opened the pipe, and goes on writing. */
static void test_a_pipe_that_never_ends_is_read_as_far_as_a_full_one(void **state)
{
	struct world *w = *state;

	fill(w, 4 * PIPE_MAX, ANSWER);
	plugin_ended(&w->plugin, 0, 0);
	assert_int_equal(lseek(w->seen, 0, SEEK_CUR), PIPE_MAX);
	assert_non_null(strstr(w->plugin.failure, "has ended, with exit code 0"));
	assert_int_equal(w->plugin.call.id, 0);
	assert_int_equal(w->plugin.out, -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_last_lines_of_a_full_pipe_are_read),
		TEST(test_a_pipe_that_never_ends_is_read_as_far_as_a_full_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
