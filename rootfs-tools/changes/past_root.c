#include "rootfs-tools/changes/past_root.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/pass.h"
#include "cli/common/client.h"
#include "sandbox/root/view.h"

void past_root_init(struct past_root *r)
{
	*r = (struct past_root){ .upper = -1, .below = -1 };
}

void past_root_done(struct past_root *r)
{
	own_close(&r->upper);
	own_close(&r->below);
}

static int take_lowers(struct reply answer, struct list *ret, struct err *e)
{
	struct reply_place at = { 0 };

	if (reply_type(reply_get(answer, "lowers")) != REPLY_ARRAY)
		return err_set(e, ERR_PROTOCOL, "it did not name its root's image");
	while (reply_step(reply_get(answer, "lowers"), &at)) {
		char *path = reply_string(at.value);
		if (path)
			list_add(ret, path);
		free(path);
	}
	return 0;
}

int past_root_ids(struct reply answer, struct idmaps *ret, struct err *e)
{
	AUTO_FREE char *word = reply_string(reply_get(answer, "ids"));

	if (!word)
		return 0;
	return idmaps_parse(word, ret, e) < 0 ? -1 : 1;
}

int past_root_ask(struct client *c, const char *method, struct reply *ret, struct err *e)
{
	struct client_fds passed = { .count = 1 };
	int ends[2], upper;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a pair of sockets");
	AUTO_CLOSE int ours = ends[0];
	passed.fds[0] = ends[1];
	int id = client_send_fds(c, method, NULL, &passed, e);
	(void)close(ends[1]);
	if (id < 0 || client_await(c, id, ret, e) < 0)
		return -1;
	if (pass_receive(ours, &byte, 1, &upper) == 1 && upper >= 0)
		return upper;
	return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent no folder", c->name);
}

int past_root_open(struct past_root *r, const char *name, struct err *e)
{
	struct list lowers = { 0 };
	struct reply answer;
	struct client c;

	if (client_open(&c, name, e) < 0)
		return -1;
	r->upper = past_root_ask(&c, "diff", &answer, e);
	int rc = r->upper < 0 ? -1 : take_lowers(answer, &lowers, e);
	int has_ranges = rc == 0 ? past_root_ids(answer, &r->ids, e) : -1;
	client_done(&c);
	r->has_ranges = has_ranges > 0;
	if (has_ranges >= 0)
		r->below = view_open(&lowers, e);
	list_done(&lowers);
	return r->below < 0 ? -1 : 0;
}
