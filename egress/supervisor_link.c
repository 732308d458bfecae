#include "egress/supervisor_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/json/json.h"

#define ASK_MS_MAX	 3600000
#define READ_STEP	 (16u << 10) /* bytes of one read */
#define ROOM_FOR_DROPPED 64	     /* bytes of the line that counts lost ones */

void supervisor_link_init(struct supervisor_link *s, int socket)
{
	*s = (struct supervisor_link){ .socket = socket };
	buffer_init(&s->in, SUPERVISOR_LINK_READ_MAX);
	buffer_init(&s->out, SUPERVISOR_LINK_SEND_MAX);
}

void supervisor_link_done(struct supervisor_link *s)
{
	buffer_done(&s->in);
	buffer_done(&s->out);
}

/* --- to the supervisor ------------------------------------------------------------ */

static bool say_dropped(struct supervisor_link *s)
{
	AUTO_FREE char *line =
		text_format("{\"dropped\":%llu}\n", (unsigned long long)s->dropped);

	if (!buffer_append(&s->out, line, strlen(line)))
		return false;
	s->dropped = 0;
	return true;
}

size_t supervisor_link_room(const struct supervisor_link *s)
{
	const size_t taken = buffer_len(&s->out) + ROOM_FOR_DROPPED;

	return taken < SUPERVISOR_LINK_SEND_MAX ? SUPERVISOR_LINK_SEND_MAX - taken : 0;
}

/* Queues a line, unless less than `left` bytes would be free behind it. */
static bool queue(struct supervisor_link *s, const char *line, size_t len, size_t left)
{
	if (len + left > supervisor_link_room(s) || (s->dropped && !say_dropped(s)) ||
	    !buffer_append(&s->out, line, len)) {
		s->dropped++;
		return false;
	}
	return true;
}

bool supervisor_link_say(struct supervisor_link *s, const char *line, size_t len)
{
	return queue(s, line, len, SUPERVISOR_LINK_REPLY_MAX + ROOM_FOR_DROPPED);
}

bool supervisor_link_reply(struct supervisor_link *s, const char *line, size_t len)
{
	return queue(s, line, len, 0);
}

int supervisor_link_send(struct supervisor_link *s)
{
	while (buffer_len(&s->out)) {
		ssize_t n = send(s->socket, buffer_data(&s->out), buffer_len(&s->out),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buffer_consume(&s->out, (size_t)n);
	}
	return 0;
}

bool supervisor_link_is_full(const struct supervisor_link *s)
{
	return buffer_len(&s->out) > 0;
}

/* --- from the supervisor ---------------------------------------------------------- */

int supervisor_link_read(struct supervisor_link *s, struct err *e)
{
	size_t left = SUPERVISOR_LINK_READ_MAX - buffer_len(&s->in);
	size_t room = left < READ_STEP ? left : READ_STEP;
	uint8_t *to = buffer_reserve(&s->in, room);

	if (!room || !to)
		return 1; /* supervisor_link_next() refuses the line */
	ssize_t n = recv(s->socket, to, room, MSG_DONTWAIT);
	/* The supervisor has closed its end before it had read all. */
	if (n < 0 && errno == ECONNRESET)
		return 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 1
			       : err_sys(e, "read the supervisor");
	buffer_added(&s->in, (size_t)n);
	return n > 0;
}

/* Finds a member that has to be there. */
static int need(const struct json_at *root, const char *key, struct json_at *ret,
		struct err *e)
{
	return json_member(root, key, ret)
		       ? 0
		       : err_set(e, ERR_USAGE, "%s: it has no '%s'", root->place, key);
}

static int read_rules(const struct json_at *at, struct egress_rules *rules, struct err *e)
{
	struct json_at item = { 0 };

	if (json_expect(at, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(at, &item)) {
		if (egress_rules_add_value(rules, &item, NULL, e) < 0)
			return err_in(e, "%s", item.place);
	}
	return 0;
}

static int read_settings(const struct json_at *root, struct order *o, struct err *e)
{
	static const char *const keys[] = { "default", "rules", "ask_ms", "upstream",
					    NULL };
	struct json_at at;
	const char *word;
	uint64_t ms;

	o->kind = ORDER_SETTINGS;
	o->ask_ms = SUPERVISOR_LINK_ASK_MS;
	if (json_only(root, keys, e) < 0)
		return -1;
	if (json_member(root, "default", &at)) {
		if (json_string(&at, &word, e) < 0)
			return -1;
		if (strcmp(word, "deny") != 0)
			return err_set(e, ERR_USAGE, "%s: 'deny' was expected", at.place);
	}
	if (json_member(root, "upstream", &at))
		return err_set(e, ERR_UNSUPPORTED, "%s: there is no proxy yet", at.place);
	if (json_member(root, "ask_ms", &at)) {
		if (json_uint(&at, &ms, e) < 0)
			return -1;
		if (ms > ASK_MS_MAX)
			return err_set(e, ERR_USAGE, "%s: an hour is the most", at.place);
		o->ask_ms = (int64_t)ms;
	}
	return need(root, "rules", &at, e) < 0 ? -1 : read_rules(&at, &o->rules, e);
}

static int read_set(const struct json_at *root, struct order *o, struct err *e)
{
	static const char *const keys[] = { "rules", NULL };
	struct json_at at;

	o->kind = ORDER_SET;
	if (json_only(root, keys, e) < 0 || need(root, "rules", &at, e) < 0)
		return -1;
	return read_rules(&at, &o->rules, e);
}

static int read_answer(const struct json_at *root, struct order *o, struct err *e)
{
	static const char *const keys[] = { "id", "allow", "for", NULL };
	const char *word = "once";
	struct json_at at;
	uint64_t id;

	o->kind = ORDER_ANSWER;
	if (json_only(root, keys, e) < 0 || need(root, "id", &at, e) < 0 ||
	    json_uint(&at, &id, e) < 0)
		return -1;
	if (need(root, "allow", &at, e) < 0 || json_bool(&at, &o->is_allowed, e) < 0)
		return -1;
	if (json_member(root, "for", &at) && json_string(&at, &word, e) < 0)
		return -1;
	o->is_for_sandbox = !strcmp(word, "sandbox");
	if (id > UINT32_MAX || (!o->is_for_sandbox && strcmp(word, "once") != 0))
		return err_set(e, ERR_USAGE, "answer: not of this protocol");
	o->id = (uint32_t)id;
	return 0;
}

static int read_list(const struct json_at *at, struct order *o, struct err *e)
{
	const char *word;

	o->kind = ORDER_LIST;
	if (json_string(at, &word, e) < 0)
		return -1;
	return strcmp(word, "connections")
		       ? err_set(e, ERR_USAGE, "list: not of this protocol")
		       : 0;
}

static int read_sync(const struct json_at *at, struct order *o, struct err *e)
{
	uint64_t id;

	o->kind = ORDER_SYNC;
	if (json_uint(at, &id, e) < 0)
		return -1;
	o->id = (uint32_t)id;
	return id && id <= UINT32_MAX
		       ? 0
		       : err_set(e, ERR_USAGE, "sync: not of this protocol");
}

int order_read(const char *line, size_t len, struct order *ret, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(line, len, e);
	struct order o = { 0 };
	struct json_at root, at;
	int result;

	if (!doc)
		return -1;
	json_root(doc, "settings", &root);
	if (json_member(&root, "set", &at))
		result = read_set(&at, &o, e);
	else if (json_member(&root, "answer", &at))
		result = read_answer(&at, &o, e);
	else if (json_member(&root, "list", &at))
		result = read_list(&at, &o, e);
	else if (json_member(&root, "sync", &at))
		result = read_sync(&at, &o, e);
	else
		result = read_settings(&root, &o, e);
	if (result < 0)
		order_done(&o);
	else
		*ret = o;
	return result;
}

void order_done(struct order *o)
{
	egress_rules_done(&o->rules);
}

bool supervisor_link_has_one(const struct supervisor_link *s)
{
	const size_t len = buffer_len(&s->in);

	return len &&
	       memchr(buffer_data(&s->in), '\n', len) == buffer_data(&s->in) + len - 1;
}

int supervisor_link_next(struct supervisor_link *s, struct order *ret, struct err *e)
{
	const uint8_t *bytes = buffer_data(&s->in);
	size_t len = buffer_len(&s->in);
	const uint8_t *end = memchr(bytes, '\n', len);

	if (!end)
		return len == SUPERVISOR_LINK_READ_MAX
			       ? err_set(e, ERR_LIMIT, "a line is longer than %u bytes",
					 SUPERVISOR_LINK_READ_MAX)
			       : 0;
	int result = order_read((const char *)bytes, (size_t)(end - bytes), ret, e);
	/* An error that could end the process is for a line without an end alone. */
	if (result < 0 && e->kind == ERR_LIMIT)
		e->kind = ERR_USAGE;
	buffer_consume(&s->in, (size_t)(end - bytes) + 1);
	return result < 0 ? -1 : 1;
}
