#include "bwrap/args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "bwrap/options.h"

void args_init(struct args *a, uint64_t caps)
{
	*a = (struct args){ .caps = caps,
			    .userns = -1,
			    .userns2 = -1,
			    .pidns = -1,
			    .block = -1,
			    .userns_block = -1,
			    .info = -1,
			    .json_status = -1,
			    .sync = -1,
			    .seccomp = -1,
			    .uid = -1,
			    .gid = -1 };
}

void args_done(struct args *a)
{
	free(a->ops);
	list_done(&a->locks);
	list_done(&a->warnings);
	filters_done(&a->filters);
	for (size_t i = 0; i < a->data_count; i++) {
		free(a->data[i]);
		free(a->data_words[i]);
	}
	free(a->data);
	free(a->data_words);
	args_init(a, 0);
}

static size_t count_words(char **words)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

int args_parse(struct args *a, char **words, struct err *e)
{
	/* The name of the program counts, as it does in bwrap. */
	struct reader r = { .args = a, .total = count_words(words) + 1, .perms = -1 };

	if (r.total > ARGS_MAX)
		return err_set(e, ERR_LIMIT, "Exceeded maximum number of arguments %d",
			       ARGS_MAX);
	if (options_parse(&r, &words, e) < 0)
		return -1;
	if (r.sources > 0 && a->wish == ARGS_RUN)
		return err_set(e, ERR_USAGE,
			       "--overlay-src must be followed by another --overlay-src "
			       "or one of --overlay, --tmp-overlay, or --ro-overlay");
	a->command = words;
	return 0;
}

/* Two options of which one needs or excludes the other. */
struct rule {
	bool is_broken;
	const char *text;
};

static int check_rules(const struct rule *rules, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].is_broken)
			return err_set(e, ERR_USAGE, "%s", rules[i].text);
	return 0;
}

int args_check(const struct args *a, struct err *e)
{
	const bool is_root = getuid() == 0;
	const bool makes_user = a->unshare_user || a->unshare_user_try ||
				(!is_root && a->userns < 0);
	const bool has_user = makes_user || a->userns >= 0;
	const struct rule rules[] = {
		{ a->userns_block >= 0 && !a->unshare_user,
		  "--userns-block-fd requires --unshare-user" },
		{ a->userns_block >= 0 && a->info < 0,
		  "--userns-block-fd requires --info-fd" },
		{ a->userns >= 0 && a->unshare_user,
		  "--userns not compatible --unshare-user" },
		{ a->userns >= 0 && a->unshare_user_try,
		  "--userns not compatible --unshare-user-try" },
		{ a->disable_userns && !a->unshare_user,
		  "--disable-userns requires --unshare-user" },
		{ a->disable_userns && a->userns_block >= 0,
		  "--disable-userns is not compatible with  --userns-block-fd" },
		{ !has_user && a->uid >= 0 && a->uid != getuid(),
		  "Specifying --uid requires --unshare-user or --userns" },
		{ !has_user && a->gid >= 0 && a->gid != getgid(),
		  "Specifying --gid requires --unshare-user or --userns" },
		{ !a->unshare_uts && a->hostname,
		  "Specifying --hostname requires --unshare-uts" },
		{ a->as_pid_1 && !a->unshare_pid,
		  "Specifying --as-pid-1 requires --unshare-pid" },
		{ a->as_pid_1 && a->locks.count > 0,
		  "Specifying --as-pid-1 and --lock-file is not permitted" },
	};

	return check_rules(rules, ARRAY_LEN(rules), e);
}

void args_print_help(const char *self, FILE *to)
{
	(void)fprintf(to, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n",
		      self ? self : "bwrap");
	options_print(to);
	(void)fputs("\nMore: man hutch-bwrap\n", to);
}
