/* The rule for a sandbox's name.  It has a file of its own because libhutch
 * links it, and nothing else of the registry. */
#include <string.h>

#include "sandbox/state/registry.h"

#define DIGITS	"0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

bool registry_is_name(const char *name)
{
	size_t len = strspn(name, DIGITS LETTERS "_.-");

	return len && len <= REGISTRY_NAME_MAX && !name[len] && !strchr("_.-", name[0]);
}
