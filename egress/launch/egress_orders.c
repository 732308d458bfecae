#include "egress/launch/egress_orders.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/launch/egress.h"
#include "egress/launch/egress_news.h"
#include "egress/supervisor_link.h"
#include "policy/egress/egress_rules.h"

/* --- lines -------------------------------------------------------------------------- */

bool egress_has_unsent(const struct egress *x)
{
	return buffer_len(&x->unsent) > 0;
}

/* An error of the socket is left to egress_fill(), which finds it closed and says that
 * hutch-egress has ended. */
void egress_flush(struct egress *x)
{
	while (x->control >= 0 && egress_has_unsent(x)) {
		ssize_t n = send(x->control, buffer_data(&x->unsent),
				 buffer_len(&x->unsent), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		buffer_consume(&x->unsent, n < 0 ? buffer_len(&x->unsent) : (size_t)n);
	}
}

static int queue(struct egress *x, const char *line, struct err *e)
{
	const size_t len = strlen(line);

	if (x->control < 0)
		return err_set(e, ERR_GONE,
			       "hutch-egress has ended, and no connection is "
			       "made any more");
	if (len > SUPERVISOR_LINK_READ_MAX)
		return err_set(e, ERR_LIMIT, "the rules have more than %u bytes",
			       SUPERVISOR_LINK_READ_MAX);
	if (!buffer_append(&x->unsent, line, len))
		return err_set(e, ERR_BUSY, "hutch-egress has not read earlier requests");
	egress_flush(x);
	return 0;
}

/* --- orders ------------------------------------------------------------------------- */

int egress_order_set(struct egress *x, const struct list *rules, struct err *e)
{
	AUTO_FREE char *all = rules->count ? list_join(rules, 0, ",") : text_copy("");
	AUTO_FREE char *line = text_format("{\"set\":{\"rules\":[%s]}}\n", all);

	return queue(x, line, e);
}

int egress_order_answer(struct egress *x, const struct egress_answer *answer,
			struct err *e)
{
	AUTO_FREE char *line =
		text_format("{\"answer\":{\"id\":%u,\"allow\":%s,\"for\":\"%s\"}}\n",
			    answer->id, answer->is_allowed ? "true" : "false",
			    answer->is_for_sandbox ? "sandbox" : "once");

	return queue(x, line, e);
}

int egress_order_list(struct egress *x, struct err *e)
{
	return queue(x, "{\"list\":\"connections\"}\n", e);
}

int egress_order_sync(struct egress *x, uint32_t id, struct err *e)
{
	AUTO_FREE char *line = text_format("{\"sync\":%u}\n", id);

	return queue(x, line, e);
}

void egress_deny(struct egress *x, const struct egress_news *question)
{
	/* hutch-egress numbers questions from 1: it knows no question 0 */
	const struct egress_answer no = { .id = (uint32_t)json_member_uint(
						  &question->value, "id", 0) };
	(void)egress_order_answer(x, &no, NULL); /* on failure hutch-egress denies it
						  * when its time is over */
}

/* --- ports -------------------------------------------------------------------------- */

static bool listens(const struct egress *x, uint16_t port)
{
	bool found = x->has_all_ports;

	for (size_t i = 0; i < x->port_count && !found; i++)
		found = x->ports[i] == port;
	return found;
}

static int refuse(const char *port, const char *rule, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%s has no listener in this sandbox: its ports are those of the "
		      "rules that it was made with, and 80 and 443",
		      port);
	return err_remedy(e,
			  "make the sandbox with a rule that names it, such as "
			  "--allow %s; rules about it can change then",
			  rule);
}

int egress_check_ports(const struct egress *x, const struct egress_rules *rules,
		       struct err *e)
{
	if (rules->has_all_ports && !x->has_all_ports)
		return refuse("a port of the rule", "HOST:*", e);
	for (size_t i = 0; i < rules->port_count; i++) {
		AUTO_FREE char *port = text_format("port %u", rules->ports[i]);
		if (!listens(x, rules->ports[i]))
			return refuse(port, "HOST:PORT", e);
	}
	return 0;
}
