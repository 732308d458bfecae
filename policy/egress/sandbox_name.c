#include "policy/egress/sandbox_name.h"

#include <string.h>

#include "policy/egress/egress_rule.h"

#define SUFFIX "." SANDBOX_NAME_ZONE

bool sandbox_name_is(const char *name)
{
	const size_t len = strlen(name), suffix = strlen(SUFFIX);

	return len > suffix && !strcmp(name + len - suffix, SUFFIX) &&
	       strcmp(name, EGRESS_HOST_NAME) != 0;
}

bool sandbox_name_read(const char *name, struct sandbox_name *ret)
{
	const size_t first = strcspn(name, ".");
	struct sandbox_name x = { "", "" };

	if (!sandbox_name_is(name) || first > SANDBOX_NAME_LABEL_MAX)
		return false;
	const char *network = name + first + 1;
	const size_t second = strcspn(network, ".");
	if (second > SANDBOX_NAME_LABEL_MAX || strcmp(network + second, SUFFIX) != 0)
		return false;
	memcpy(x.sandbox, name, first);
	memcpy(x.network, network, second);
	*ret = x;
	return true;
}

/* Returns whether a text is a label of a host_name in lower case. */
static bool is_label(const char *text, size_t max)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	const size_t len = strlen(text);

	return len > 0 && len <= max && strspn(text, bytes) == len && text[0] != '-' &&
	       text[len - 1] != '-';
}

bool sandbox_name_is_network(const char *text)
{
	return is_label(text, SANDBOX_NAME_NETWORK_MAX);
}

bool sandbox_name_is_reachable(const char *sandbox)
{
	return is_label(sandbox, SANDBOX_NAME_LABEL_MAX);
}
