#include "sandbox/kernel/caps.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/capability.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

#define BIT(n)	   (1ull << (n))
#define CAPS_END   64 /* how many capabilities a 64-bit set can hold */
#define PREFIX	   "cap_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define AUTO_CAPS  __attribute__((cleanup(free_caps)))

static void free_caps(cap_t *sets)
{
	const int saved = errno;

	(void)cap_free(*sets); /* cap_free(3) fails only for memory that libcap did not
				* allocate */
	errno = saved;
}

/* The default capabilities of root in a sandbox: the part of Docker's default set that
 * package managers need.  They apply only to files and ids of the sandbox's user
 * namespace. */
static const uint64_t root_set = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) |
				 BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_SETUID) |
				 BIT(CAP_SETGID);

/* cap_from_name(3) reads only up to the end of the first name in a text, so the name
 * of the capability that it found is compared with the whole given name. */
int caps_parse(const char *name, struct err *e)
{
	const char *bare = strncasecmp(name, PREFIX, PREFIX_LEN) ? name
								 : name + PREFIX_LEN;
	char full[64];
	cap_value_t number;

	/* a text that is too long for `full` is cut; no capability's name is that long,
	 * so the look-up fails */
	(void)snprintf(full, sizeof(full), PREFIX "%s", bare);
	if (cap_from_name(full, &number) == 0 &&
	    !strcasecmp(bare, caps_name(number).text))
		return number;
	(void)err_set(e, ERR_USAGE, "unknown capability '%.60s'", name);
	return err_remedy(e, "capabilities(7) has their names, such as NET_BIND_SERVICE");
}

/* Returns the name in capitals, without its prefix.  cap_to_name(3) writes
 * "cap_chown", or digits for a number that it has no name for. */
struct caps_name caps_name(int number)
{
	struct caps_name ret = { "?" };
	char *name = cap_to_name(number);

	if (name && !strncmp(name, PREFIX, PREFIX_LEN))
		for (size_t i = 0; name[PREFIX_LEN + i] && i < sizeof(ret.text) - 1; i++)
			ret.text[i] = (char)toupper((unsigned char)name[PREFIX_LEN + i]);
	(void)cap_free(name);
	return ret;
}

uint64_t caps_for(const struct policy *policy, uint32_t uid)
{
	uint64_t set = uid == 0 ? root_set : 0;

	if (policy->drops_all_caps)
		set = 0;
	return (set & ~policy->cap_drop) | policy->cap_add;
}

/* Sets `flag` for the capabilities in `caps`.  cap_set_flag(3) refuses an empty
 * list, so an empty set is left out. */
static int raise_flag(cap_t sets, cap_flag_t flag, uint64_t caps)
{
	cap_value_t values[CAPS_END];
	int count = 0;

	for (cap_value_t n = 0; n < CAPS_END; n++)
		if (caps & BIT(n))
			values[count++] = n;
	return count == 0 ? 0 : cap_set_flag(sets, flag, count, values, CAP_SET);
}

/* Replaces the three sets of this thread.  Returns -1 with errno set on failure. */
static int set_sets(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	AUTO_CAPS cap_t sets = cap_init();

	if (!sets || raise_flag(sets, CAP_EFFECTIVE, effective) < 0 ||
	    raise_flag(sets, CAP_PERMITTED, permitted) < 0 ||
	    raise_flag(sets, CAP_INHERITABLE, inheritable) < 0)
		return -1;
	return cap_set_proc(sets);
}

/* Sets the inheritable set: an ambient capability has to be permitted and
 * inheritable (capabilities(7)).  All permitted capabilities become effective too,
 * since later steps need them.  Returns -1 with errno set on failure. */
static int set_inheritable(uint64_t inheritable)
{
	AUTO_CAPS cap_t sets = cap_get_proc();

	if (!sets || cap_fill(sets, CAP_EFFECTIVE, CAP_PERMITTED) < 0 ||
	    cap_clear_flag(sets, CAP_INHERITABLE) < 0 ||
	    raise_flag(sets, CAP_INHERITABLE, inheritable) < 0)
		return -1;
	return cap_set_proc(sets);
}

static int raise_ambient(uint64_t kept, struct err *e)
{
	for (cap_value_t n = 0; n < CAPS_END; n++)
		if ((kept & BIT(n)) && cap_set_ambient(n, CAP_SET) < 0)
			return err_sys(e, "hand on CAP_%s", caps_name(n).text);
	return 0;
}

/* Drops all capabilities but `kept` from the bounding set, which is full in a new
 * user namespace.  The kernel answers EINVAL behind its highest capability, which
 * ends the loop. */
static int reduce_bounding(uint64_t kept, struct err *e)
{
	for (cap_value_t n = 0; n < CAPS_END; n++) {
		if ((kept & BIT(n)) || cap_drop_bound(n) == 0)
			continue;
		if (errno == EINVAL)
			return 0;
		return err_sys(e, "drop CAP_%s from the bounding set", caps_name(n).text);
	}
	return 0;
}

int caps_reduce(uint64_t kept, uint64_t handed_on, bool is_root, struct err *e)
{
	/* Across execve(2), root keeps its bounding set and the inheritable
	 * set; every other user keeps only the ambient set. */
	const uint64_t inherited = is_root ? kept & ~handed_on : kept;

	/* All capabilities of the namespace's owner stay until the bounding set
	 * is reduced, which takes CAP_SETPCAP.  The inheritable set is set
	 * before that: it cannot be raised above the bounding set. */
	if (set_inheritable(inherited) < 0)
		return err_sys(e, "make capabilities inheritable");
	if (raise_ambient(is_root ? 0 : kept, e) < 0 ||
	    reduce_bounding(handed_on, e) < 0) /* layer: bounding-set */
		return -1;
	/* The executor itself later removes from its effective set the capabilities that
	 * it does not use. */
	return set_sets(kept, kept, inherited) < 0 ? err_sys(e, "set the capabilities")
						   : 0;
}

int caps_keep(uint64_t kept, struct err *e)
{
	return set_sets(kept, kept, 0) < 0 ? err_sys(e, "set the capabilities") : 0;
}

/* Empties all sets.  The ambient set becomes empty with the permitted and the
 * inheritable set, of which it is a part (capabilities(7)). */
int caps_drop(struct err *e)
{
	return caps_keep(0, e);
}

int caps_raise(uint64_t kept, uint64_t raised)
{
	return set_sets(raised, kept, 0);
}
