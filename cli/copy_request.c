#include "cli/copy_request.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/utf8.h"
#include "base/worker.h"
#include "cli/common/client.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/state/registry.h"

static int check_text(const char *text, struct err *e)
{
	if (utf8_is_valid((const uint8_t *)text, strlen(text), false))
		return 0;
	return err_set(e, ERR_USAGE,
		       "the path '%.100s' is not UTF-8, which is all that the "
		       "control socket carries; its folder can be copied",
		       text);
}

static char *params_of(const struct copy_request *c)
{
	AUTO_FREE char *path = json_write_quoted(c->path);
	AUTO_FREE char *name = c->name ? json_write_quoted(c->name) : NULL;

	if (c->packs)
		return text_format("{\"path\":%s,\"follow\":%s}", path,
				   c->follows ? "true" : "false");
	return text_format("{\"path\":%s%s%s}", path, name ? ",\"name\":" : "",
			   name ? name : "");
}

/* Sends the request with the descriptors.  This process then closes its own copies:
 * only the sandbox holds the pipes, so their ends close when it is done or dies. */
static int start(struct copy_request *c, struct client *client, struct err *e)
{
	AUTO_FREE char *params = params_of(c);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_sys(e, "open /dev/null");
	const struct client_fds fds = {
		.fds = { c->packs ? null : c->tar, c->packs ? c->tar : null,
			 c->sentences },
		.count = 3,
	};
	int id = client_send_fds(client, c->packs ? "copy.out" : "copy.in", params, &fds,
				 e);
	own_close(&c->tar);
	own_close(&c->sentences);
	return id;
}

static enum err_kind kind_of(struct json_view word)
{
	static const struct {
		const char *name;
		enum err_kind kind;
	} kinds[] = {
		{ "not_found", ERR_NOT_FOUND }, { "refused", ERR_REFUSED },
		{ "exists", ERR_EXISTS },	{ "no_space", ERR_LIMIT },
		{ "limit", ERR_LIMIT },		{ "invalid", ERR_PROTOCOL },
		{ "disconnected", ERR_GONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (json_view_is(word, kinds[i].name))
			return kinds[i].kind;
	return ERR_SYSTEM;
}

static int judge_end(const struct copy_request *c, struct json_view end,
		     struct outcome *o)
{
	const struct json_view word = json_view_get(end, "error");
	AUTO_FREE char *text = json_view_string(word);
	int64_t code = -1;

	if (json_view_integer(json_view_get(end, "exit_code"), &code) && code == 0)
		return 0;
	if (json_view_is(word, "timeout"))
		return err_set(&o->error, ERR_SYSTEM,
			       "sandbox '%s': commands in it kept the "
			       "process that copied %.300s stopped, so "
			       "it was ended",
			       c->sandbox, c->path);
	const enum err_kind kind = kind_of(word);
	o->is_inside = true;
	o->is_closed = kind == ERR_GONE;
	return err_set(&o->error, kind,
		       "sandbox '%s': the copy of %.300s ended with code %lld "
		       "(%.20s)",
		       c->sandbox, c->path, (long long)code, text ? text : "unknown");
}

static int talk(struct copy_request *c, struct client *client, struct outcome *o)
{
	struct json_view answer;
	int64_t process = 0;
	int id = start(c, client, &o->error);

	if (id < 0 || client_await(client, id, &answer, &o->error) < 0)
		return -1;
	if (!json_view_integer(json_view_get(answer, "process"), &process))
		return err_set(&o->error, ERR_PROTOCOL,
			       "sandbox '%s' sent no process number", c->sandbox);
	AUTO_FREE char *which = text_format("{\"process\":%lld}", (long long)process);
	if (client_call(client, "exec.wait", which, &answer, &o->error) < 0)
		return -1;
	return judge_end(c, answer, o);
}

int copy_request_do(void *arg, void *outcome, struct err *e)
{
	struct copy_request *c = arg;
	struct outcome *o = outcome;
	struct client client = { 0 };

	if (check_text(c->path, e) < 0 || (c->name && check_text(c->name, e) < 0) ||
	    host_user_become_client(e) < 0)
		return -1;
	/* Sets again that this process dies with its parent: the change of ids has
	 * cleared PDEATHSIG (prctl(2)). */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (client_open(&client, c->sandbox, e) < 0)
		return -1;
	if (talk(c, &client, o) == 0)
		o->error.kind = ERR_NONE;
	client_done(&client);
	return 0;
}

/* Runs in a worker process (base/worker.h): finds out whether the sandbox is paused.
 * A sandbox that has ended meanwhile is not paused. */
static int look(void *arg, void *result, struct err *e)
{
	struct registry_item item;

	if (host_user_become_client(e) < 0 || registry_look(arg, &item, e) < 0)
		return -1;
	*(bool *)result = item.status == REGISTRY_PAUSED;
	registry_item_done(&item);
	return 0;
}

bool copy_request_sees_pause(const char *sandbox)
{
	AUTO_FREE char *name = text_copy(sandbox);
	const struct worker_task task = { .name = "the process that looks at a sandbox",
					  .work = look, .arg = name,
					  .result_len = sizeof(bool) };
	bool is_paused = false;

	return worker_run(&task, &is_paused, NULL) == 0 && is_paused;
}
