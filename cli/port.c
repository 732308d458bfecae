/* hutch port add|rm|ls: ports of a live sandbox.
 *
 * This process makes the socket on the host, as the calling user, and passes it
 * to the supervisor, which is confined and cannot bind one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/common/table.h"
#include "cli/verbs.h"
#include "policy/port_spec.h"
#include "sandbox/kernel/listener.h"
#include "sandbox/launch/result.h"

/* Calls `one` for each of the words after the sandbox's name. */
static int each_port(char **argv, int (*one)(struct client *, const char *, struct err *),
		     struct err *e)
{
	struct client c = { 0 };
	int result = client_open(&c, argv[0], e);

	if (result < 0)
		return -1;
	for (argv++; result == 0 && *argv; argv++)
		result = one(&c, *argv, e);
	client_done(&c);
	return result;
}

/* --- add -------------------------------------------------------------------------- */

static int hand_over(struct client *c, const struct listener *at, uint16_t guest,
		     struct err *e)
{
	AUTO_FREE char *params = text_format("{\"guest\":%u}", guest);
	const struct client_fds fds = { .fds = { at->fd }, .count = 1 };
	struct json_view answer;
	int id = client_send_fds(c, "port.add", params, &fds, e);

	return id < 0 ? -1 : client_await(c, id, &answer, e);
}

static int add_one(struct client *c, const char *word, struct err *e)
{
	struct port_spec p;
	struct listener at;

	if (port_spec_parse(word, &p, e) < 0)
		return -1;
	int result = listener_open(&p, &at, e);
	if (result == 0) {
		result = hand_over(c, &at, p.guest, e);
		if (result == 0)
			(void)printf("%s\n", at.host);
		own_close(&at.fd);
		/* If the supervisor did not take the socket, its file is removed
		 * again. */
		if (result < 0 && p.path)
			listener_remove(p.path);
		listener_done(&at);
	}
	port_spec_done(&p);
	return result;
}

static int add_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch port add NAME [IP:]HOST:GUEST...",
		.about = "Has ports of this host lead to ports inside, and prints which.",
		.operands_min = 2, .operands_max = PORT_SPEC_MAX + 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(each_port(argv, add_one, &e), &e);
}

/* --- rm --------------------------------------------------------------------------- */

/* Returns the full name of a port: "8080" means that port of the loopback interface. */
static char *full_name(const char *word)
{
	bool is_number = *word && strspn(word, "0123456789") == strlen(word);

	return is_number ? text_format("127.0.0.1:%s", word) : text_copy(word);
}

static int remove_one(struct client *c, const char *word, struct err *e)
{
	AUTO_FREE char *host = full_name(word);
	AUTO_FREE char *quoted = json_write_quoted(host);
	AUTO_FREE char *params = text_format("{\"host\":%s}", quoted);
	struct json_view answer;

	if (client_call(c, "port.remove", params, &answer, e) < 0)
		return -1;
	if (host[0] == '/')
		listener_remove(host);
	(void)printf("%s\n", host);
	return 0;
}

static int rm_port_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch port rm NAME [IP:]HOST...",
		.about =
			"Has ports of this host, as hutch port ls names them, lead nowhere any more.\n"
			"Their connections are reset.",
		.operands_min = 2,
		.operands_max = PORT_SPEC_MAX + 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(each_port(argv, remove_one, &e), &e);
}

/* --- ls --------------------------------------------------------------------------- */

static void add_number(struct table *t, struct json_view value)
{
	int64_t number;

	table_add(t, json_view_integer(value, &number)
			     ? text_format("%lld", (long long)number)
			     : NULL);
}

static void print_table(struct json_view list)
{
	static const char *const heads[] = { "HOST", "GUEST", "CONNECTIONS" };
	struct table t = { .columns = ARRAY_LEN(heads) };
	struct json_view_place at = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	while (json_view_step(list, &at)) {
		table_add(&t, json_view_string(json_view_get(at.value, "host")));
		add_number(&t, json_view_get(at.value, "guest"));
		add_number(&t, json_view_get(at.value, "connections"));
	}
	table_print(&t, stdout);
	table_done(&t);
}

static int list(const char *name, bool is_json, struct err *e)
{
	struct client c = { 0 };
	struct json_view answer;

	if (client_open(&c, name, e) < 0)
		return -1;
	int result = client_call(&c, "port.list", NULL, &answer, e);
	if (result == 0 && is_json)
		(void)printf("%.*s\n", (int)answer.len, answer.text);
	else if (result == 0)
		print_table(answer);
	client_done(&c);
	return result;
}

static int ls_port_main(char **argv)
{
	bool is_json = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "an array of objects", &is_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch port ls [--json] NAME",
		.about = "Lists the ports of this host that lead into the sandbox.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(list(argv[0], is_json, &e), &e);
}

int port_main(char **argv)
{
	static const struct part list_of[] = {
		{ "add", "have ports of this host lead to ports inside", add_main },
		{ "rm", "have them lead there no more", rm_port_main },
		{ "ls", "list them", ls_port_main },
	};
	static const struct subcommands parts = {
		.verb = "port",
		.about = "Ports of a sandbox that has a name.",
		.behind = "NAME",
		.list = list_of,
		.count = ARRAY_LEN(list_of),
	};

	return subcommands_main(argv, &parts);
}
