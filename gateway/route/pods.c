#include "gateway/route/pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

void pods_done(struct pods *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->items[i].host);
		free(p->items[i].port);
	}
	free(p->items);
	*p = (struct pods){ 0 };
}

int pods_find(const struct pods *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->count; i++)
		if (strlen(p->items[i].name) == len &&
		    !memcmp(p->items[i].name, name, len))
			return (int)i;
	return -1;
}

/* Splits HOST:PORT; an address of IPv6 has brackets, which are taken off. */
static int split(const char *text, struct pod *to, struct err *e)
{
	const char *colon = strrchr(text, ':');
	const size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (digits == 0 || colon[1 + digits] || len == 0)
		return err_set(e, ERR_USAGE, "'%.200s': HOST:PORT was expected", text);
	if (digits > 5 || atoi(colon + 1) < 1 || atoi(colon + 1) > 65535)
		return err_set(e, ERR_USAGE,
			       "'%.200s': a port is a number from 1 to 65535", text);
	if (text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	to->host = strndup(text, len);
	to->port = text_copy(colon + 1);
	return 0;
}

int pods_check_service(const char *service, struct err *e)
{
	struct pod pod = { 0 };
	const int rc = split(service, &pod, e);

	free(pod.host);
	free(pod.port);
	return rc;
}

static int add(struct pods *p, const char *name, const char *address, struct err *e)
{
	struct pod pod = { 0 };

	if (box_id_check_pod(name, e) < 0)
		return -1;
	if (pods_find(p, name, strlen(name)) >= 0)
		return err_set(e, ERR_USAGE, "pod '%s' is named twice", name);
	if (p->count == PODS_MAX)
		return err_set(e, ERR_LIMIT, "there are more than %d pods", PODS_MAX);
	if (split(address, &pod, e) < 0)
		return -1;
	memcpy(pod.name, name, strlen(name) + 1);
	p->items = reallocarray(p->items, p->count + 1, sizeof(pod));
	if (!p->items)
		abort();
	p->items[p->count++] = pod;
	return 0;
}

static int add_below(struct pods *p, const char *name, const char *service, struct err *e)
{
	if (!service)
		return err_set(e, ERR_USAGE,
			       "pod '%.60s' has no address: --service HOST:PORT, or "
			       "--pod NAME=ADDRESS:PORT",
			       name);
	AUTO_FREE char *address = text_format("%s.%s", name, service);
	return add(p, name, address, e);
}

/* Reads NAME-A..B.  Returns whether the word has that form. */
static bool read_range(const char *word, size_t *ret_len, unsigned long *ret_from,
		       unsigned long *ret_to)
{
	const char *dots = strstr(word, ".."), *digits = dots;
	char *end;

	while (digits && digits > word && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (!dots || digits == dots || digits == word || digits[-1] != '-')
		return false;
	*ret_len = (size_t)(digits - word);
	*ret_from = strtoul(digits, &end, 10);
	const size_t more = strspn(dots + 2, "0123456789");
	*ret_to = strtoul(dots + 2, &end, 10);
	return more > 0 && more < 6 && dots - digits < 6 && !*end;
}

int pods_add(struct pods *p, const char *word, const char *service, struct err *e)
{
	const char *equals = strchr(word, '=');
	unsigned long from, to;
	size_t len;

	if (equals) {
		AUTO_FREE char *name = strndup(word, (size_t)(equals - word));
		if (read_range(name, &len, &from, &to)) {
			(void)err_set(e, ERR_USAGE,
				      "'%.100s': several pods cannot have one address",
				      word);
			return err_remedy(
				e, "--service HOST:PORT gives each of %.60s its own",
				name);
		}
		return add(p, name, equals + 1, e);
	}
	if (!read_range(word, &len, &from, &to))
		return add_below(p, word, service, e);
	if (to < from || to - from >= PODS_MAX)
		return err_set(e, ERR_USAGE,
			       "'%.60s': from a lower number to a higher one, "
			       "up to %d",
			       word, PODS_MAX);
	for (unsigned long i = from; i <= to; i++) {
		AUTO_FREE char *name = text_format("%.*s%lu", (int)len, word, i);
		if (add_below(p, name, service, e) < 0)
			return -1;
	}
	return 0;
}
