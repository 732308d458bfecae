#include "policy/port_spec.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/units.h"

#define FLAG "-p "

const char *port_spec_word(const struct port_spec *p)
{
	return p->from + sizeof(FLAG) - 1;
}

void port_spec_done(struct port_spec *p)
{
	free(p->address);
	free(p->path);
	free(p->folder);
	free(p->from);
	*p = (struct port_spec){ 0 };
}

static int misses(const char *word, struct err *e)
{
	(void)err_set(e, ERR_USAGE,
		      "-p takes [IP:]HOST:GUEST, auto:GUEST or PATH:GUEST, not "
		      "'%.100s'",
		      word);
	return err_remedy(e,
			  "-p 8080:80 has port 8080 of this host lead to port 80 inside; "
			  "-p 80 and -p auto:80 take a free one");
}

static int parse_port(const char *text, uint16_t *ret, struct err *e)
{
	uint64_t number;

	if (units_parse_number(text, &number, NULL) < 0 || number == 0 ||
	    number > UINT16_MAX)
		return err_set(e, ERR_USAGE, "'%.60s' is no port from 1 to 65535", text);
	*ret = (uint16_t)number;
	return 0;
}

/* Parses "80" or "80/tcp". */
static int parse_guest(char *text, uint16_t *ret, struct err *e)
{
	char *slash = strchr(text, '/');

	if (slash && strcmp(slash, "/tcp") != 0)
		return err_set(e, ERR_UNSUPPORTED, "'%.60s': TCP alone is carried", text);
	if (slash)
		*slash = '\0';
	return parse_port(text, ret, e);
}

/* Parses "8080", "8000-8099", "auto", or docker's forms of the latter: "0" and "". */
static int parse_host(char *text, struct port_spec *p, struct err *e)
{
	char *dash = strchr(text, '-');

	if (!strcmp(text, "auto") || !strcmp(text, "0") || !*text) {
		p->low = PORT_SPEC_LOW;
		p->high = PORT_SPEC_HIGH;
		return 0;
	}
	if (dash)
		*dash++ = '\0';
	if (parse_port(text, &p->low, e) < 0 ||
	    parse_port(dash ? dash : text, &p->high, e) < 0)
		return -1;
	return p->low <= p->high
		       ? 0
		       : err_set(e, ERR_USAGE, "%u-%u is no range", p->low, p->high);
}

static bool is_address(const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static int take_path(const char *path, struct port_spec *p, struct err *e)
{
	struct sockaddr_un address;

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(e, ERR_LIMIT,
			       "the path of a unix socket has at most %zu bytes",
			       sizeof(address.sun_path) - 1);
	p->path = text_copy(path);
	return 0;
}

/* Parses [IP:]HOST or a path, the part of `word` before its last ':'. */
static int parse_front(char *front, struct port_spec *p, const char *word, struct err *e)
{
	char *host = front, *colon = strrchr(front, ':'), *address = NULL;

	if (front[0] == '/')
		return take_path(front, p, e);
	if (colon) {
		size_t len = (size_t)(colon - front);
		bool has_brackets = len > 2 && front[0] == '[' && colon[-1] == ']';
		host = colon + 1;
		*colon = '\0';
		address = front;
		if (has_brackets) {
			colon[-1] = '\0';
			address++;
		}
		if (has_brackets != (strchr(address, ':') != NULL))
			return misses(word, e);
		if (!is_address(address)) {
			(void)err_set(e, ERR_USAGE, "'%.60s' is no IP address", address);
			return err_remedy(e,
					  "-p [IP:]HOST:GUEST, where 127.0.0.1 is the IP "
					  "if there is none");
		}
	}
	p->address = text_copy(address ? address : "127.0.0.1");
	return parse_host(host, p, e);
}

static int parse(const char *word, struct port_spec *ret, struct err *e)
{
	AUTO_FREE char *copy = text_copy(word);
	char *colon = strrchr(copy, ':');

	const bool is_guest_alone = !colon && *word >= '0' && *word <= '9';
	char *guest = colon ? colon + 1 : copy;

	if ((!colon && !is_guest_alone) || colon == copy || !*guest)
		return misses(word, e);
	if (colon)
		*colon = '\0';
	if (parse_guest(guest, &ret->guest, e) < 0)
		return -1;
	return parse_front(colon ? copy : (char[]){ "auto" }, ret, word, e);
}

int port_spec_parse(const char *word, struct port_spec *ret, struct err *e)
{
	struct port_spec p = { .from = text_format(FLAG "%s", word) };

	if (parse(word, &p, e) == 0) {
		*ret = p;
		return 0;
	}
	if (!strstr(e->text, "-p takes"))
		(void)err_from(e, p.from);
	port_spec_done(&p);
	return -1;
}

int port_spec_add(struct policy *p, const char *word, struct err *e)
{
	struct port_spec one;

	if (p->publish_count == PORT_SPEC_MAX)
		return err_set(e, ERR_LIMIT, "-p: %d ports are the most", PORT_SPEC_MAX);
	if (port_spec_parse(word, &one, e) < 0)
		return -1;
	p->publishes = mem_resize(p->publishes, p->publish_count + 1, sizeof(one));
	p->publishes[p->publish_count++] = one;
	return 0;
}

int port_spec_check(const struct policy *p, struct err *e)
{
	if (p->publish_count == 0 || p->network != NETWORK_HOST)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "a port is published out of a network of the sandbox's "
		      "own, and --network host has none");
	(void)err_from(e, p->publishes[0].from);
	return err_remedy(e, "leave -p out: programs inside then listen on this host");
}
