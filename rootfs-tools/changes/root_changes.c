#include "rootfs-tools/changes/root_changes.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "sandbox/root/merged_view.h"

void root_changes_init(struct root_changes *r)
{
	*r = (struct root_changes){ .upper = -1, .below = -1 };
}

void root_changes_done(struct root_changes *r)
{
	own_close(&r->upper);
	own_close(&r->below);
}

static int take_lowers(struct json_view answer, struct list *ret, struct err *e)
{
	struct json_view_place at = { 0 };

	if (json_view_type(json_view_get(answer, "lowers")) != JSON_ARRAY)
		return err_set(e, ERR_PROTOCOL, "it did not name its root's image");
	while (json_view_step(json_view_get(answer, "lowers"), &at)) {
		char *path = json_view_string(at.value);
		if (path)
			list_add(ret, path);
		free(path);
	}
	return 0;
}

int root_changes_ids(struct json_view answer, struct idmaps *ret, struct err *e)
{
	AUTO_FREE char *word = json_view_string(json_view_get(answer, "ids"));

	if (!word)
		return 0;
	return idmaps_parse(word, ret, e) < 0 ? -1 : 1;
}

int root_changes_ask(struct client *c, const char *method, struct json_view *ret,
		     struct err *e)
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
	if (fd_pass_receive(ours, &byte, 1, &upper) == 1 && upper >= 0)
		return upper;
	return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent no folder", c->name);
}

int root_changes_open(struct root_changes *r, const char *name, struct err *e)
{
	struct list lowers = { 0 };
	struct json_view answer;
	struct client c;

	if (client_open(&c, name, e) < 0)
		return -1;
	r->upper = root_changes_ask(&c, "diff", &answer, e);
	int rc = r->upper < 0 ? -1 : take_lowers(answer, &lowers, e);
	int has_ranges = rc == 0 ? root_changes_ids(answer, &r->ids, e) : -1;
	client_done(&c);
	r->has_ranges = has_ranges > 0;
	if (has_ranges >= 0)
		r->below = merged_view_open(&lowers, e);
	list_done(&lowers);
	return r->below < 0 ? -1 : 0;
}
