#include "egress/net_line.h"

#include "base/json_write.h"

/* Writes a text of the network or of the gate: "" is null. */
static void put_text(struct buffer *b, const char *key, const char *text)
{
	json_write_text(b, key, text && *text ? text : NULL);
}

static void put_tls(struct buffer *b, const struct net_line *x)
{
	if ((!x->sni || !*x->sni) && (!x->alpn || !*x->alpn)) {
		json_write_text(b, "tls", NULL);
		return;
	}
	json_write_open(b, "tls", "{");
	put_text(b, "sni", x->sni);
	put_text(b, "alpn", x->alpn);
	json_write_close(b, "}");
}

void net_line_write(struct buffer *b, const struct net_line *x)
{
	json_write_open(b, NULL, "{");
	json_write_open(b, "net", "{");
	json_write_number(b, "time", x->time);
	json_write_text(b, "verdict", x->verdict);
	json_write_text(b, "rule", x->rule);
	put_text(b, "reason", reason_word(x->reason));
	if (x->why)
		json_write_text(b, "why", x->why);
	put_text(b, "name", x->name);
	json_write_count(b, "port", x->port);
	put_text(b, "address", x->address);
	put_text(b, "cname", x->cname);
	put_tls(b, x);
	json_write_count(b, "id", x->id);
	if (x->is_end) {
		json_write_number(b, "up", (int64_t)x->up);
		json_write_number(b, "down", (int64_t)x->down);
	}
	json_write_number(b, "ms", x->ms);
	if (x->is_asked)
		json_write_bool(b, "asked", true);
	if (x->is_gates)
		json_write_text(b, "by", "gate");
	if (x->count > 1)
		json_write_number(b, "count", x->count);
	json_write_close(b, "}}\n");
}
