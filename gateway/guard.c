#include "gateway/guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "gateway/serve.h"

#define HOST_MAX 256

static bool is_address(const char *host)
{
	struct in6_addr address;
	char inner[HOST_MAX];
	const size_t len = strlen(host);

	if (inet_pton(AF_INET, host, &address) == 1)
		return true;
	if (len < 3 || host[0] != '[' || host[len - 1] != ']')
		return false;
	memcpy(inner, host + 1, len - 2);
	inner[len - 2] = '\0';
	return inet_pton(AF_INET6, inner, &address) == 1;
}

/* Whether the name is `allowed`; one that begins with a dot allows all names below it. */
static bool is_name(const char *host, const char *allowed)
{
	const size_t len = strlen(host), most = strlen(allowed);

	if (allowed[0] != '.')
		return !strcasecmp(host, allowed);
	return len > most && !strcasecmp(host + len - most, allowed);
}

bool guard_allows_host(const struct serve *s, const char *host)
{
	char name[HOST_MAX];

	if (!host || strlen(host) >= sizeof(name))
		return false;
	memcpy(name, host, strlen(host) + 1);
	char *colon = strrchr(name, ':');
	if (colon && !strchr(colon, ']') &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1))
		*colon = '\0';
	if (is_address(name) || !strcasecmp(name, "localhost"))
		return true;
	for (size_t i = 0; i < s->hosts.count; i++)
		if (is_name(name, s->hosts.items[i]))
			return true;
	return false;
}

bool guard_allows_origin(const struct serve *s, const char *origin)
{
	return !origin || list_has(&s->origins, origin);
}
