#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/command_option.h"
#include "policy/commands_parts.h"

static const char not_known[] = "text to be run that only bash can compute";

/* A program whose arguments are a command that it runs, or a builtin like that. */
struct runner {
	const char *name;
	struct option_table options;
	bool (*is_operand)(
		const struct bash_word *); /* an argument of the program's own in
						       * front of the command; NULL: there
						       * is none */
	bool sets;     /* NAME=VALUE may stand in front of the command */
	bool is_shell; /* without a command, it is a shell */
};

static bool is_any(const struct bash_word *word)
{
	(void)word;
	return true;
}

static bool is_number(const struct bash_word *word)
{
	return isdigit((unsigned char)word->text[0]);
}

static bool is_architecture(const struct bash_word *word)
{
	static const char *const names[] = { "linux32", "linux64", "i386",   "i486",
					     "i586",	"i686",	   "athlon", "x86_64",
					     "uname26", "aarch64", "armv7l", "arm",
					     NULL };

	return commands_is_in(word->text, names);
}

#define SETARCH                                                                          \
	{                                                                                \
		"vRFZLXBIST3p",                                                          \
			"verbose/v addr-no-randomize/R fdpic-funcptrs/F "                \
			"mmap-page-zero/Z addr-compat-layout/L read-implies-exec/X "     \
			"32bit/B short-inode/I whole-seconds/S sticky-timeouts/T 3gb/3 " \
			"4gb uname-2.6 show? pid=p"                                      \
	}

static const struct runner runners[] = {
	{ "builtin", { "", "" }, NULL, false, false },
	{ "busybox", { "", "" }, NULL, false, false },
	{ "chroot", { "", "userspec= groups= skip-chdir" }, is_any, false, false },
	{ "chrt",
	  { "abdfiormpRT:P:D:vG", "all-tasks batch deadline fifo idle other rr max pid "
				  "reset-on-fork sched-runtime= sched-period= "
				  "sched-deadline= verbose ext" },
	  is_number,
	  false,
	  false },
	{ "command", { "pvV", "" }, NULL, false, false },
	{ "doas", { "LnsC:u:", "" }, NULL, false, true },
	{ "env",
	  { "0iu:C:S:va:", "null ignore-environment unset=u chdir=C split-string=S "
			   "block-signal? default-signal? ignore-signal? "
			   "list-signal-handling debug argv0=" },
	  NULL,
	  true,
	  false },
	{ "exec", { "cla:", "" }, NULL, false, false },
	{ "fakeroot",
	  { "l:s:i:ub:hv", "lib= faked= save-file= load-file= unknown-is-real fd-base=" },
	  NULL,
	  false,
	  true },
	{ "flock",
	  { "sxeunow:E:FvhVc:", "shared exclusive unlock nonblock nb wait= timeout= "
				"conflict-exit-code= close no-fork verbose command=c" },
	  is_any,
	  false,
	  false },
	{ "ionice",
	  { "c:n:p:P:u:t", "class= classdata= pid= pgid= uid= ignore" },
	  NULL,
	  false,
	  false },
	{ "linux32", SETARCH, NULL, false, true },
	{ "linux64", SETARCH, NULL, false, true },
	{ "i386", SETARCH, NULL, false, true },
	{ "i486", SETARCH, NULL, false, true },
	{ "i586", SETARCH, NULL, false, true },
	{ "i686", SETARCH, NULL, false, true },
	{ "uname26", SETARCH, NULL, false, true },
	{ "x86_64", SETARCH, NULL, false, true },
	{ "ltrace",
	  { "a:A:bcCD:e:fF:hil:Ln:o:p:rs:StTu:w:x:V", "align= config= debug= demangle "
						      "indent= library= output= "
						      "no-signals where=" },
	  NULL,
	  false,
	  false },
	{ "nice", { "n:0123456789", "adjustment=" }, NULL, false, false },
	{ "nohup", { "", "" }, NULL, false, false },
	{ "nsenter",
	  { "ahVt:m::u::i::n::p::C::U::T::S:G:r::w::W::eFZc",
	    "all target= mount? uts? ipc? net? pid? cgroup? user? time? setuid= setgid= "
	    "preserve-credentials root? wd? wdns? env no-fork follow-context "
	    "join-cgroup" },
	  NULL,
	  false,
	  true },
	{ "prlimit",
	  { "c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::o:p:",
	    "core? data? nice? fsize? sigpending? memlock? rss? nofile? msgqueue? rtprio? "
	    "stack? cpu? nproc? as? locks? rttime? output= pid= noheadings raw verbose" },
	  NULL,
	  false,
	  false },
	{ "setarch", SETARCH, is_architecture, false, true },
	{ "setpriv",
	  { "d",
	    "dump no-new-privs nnp reuid= regid= clear-groups keep-groups "
	    "init-groups groups= inh-caps= ambient-caps= bounding-set= securebits= "
	    "pdeathsig= selinux-label= apparmor-profile= reset-env ruid= euid= rgid= "
	    "egid= list-caps ptracer= landlock-access= landlock-rule= "
	    "seccomp-filter=" },
	  NULL,
	  false,
	  false },
	{ "setsid", { "cfw", "ctty fork wait" }, NULL, false, false },
	{ "stdbuf", { "i:o:e:", "input= output= error=" }, NULL, false, false },
	{ "strace",
	  { "a:AbcCdDe:E:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yYzZ",
	    "attach= columns= follow-forks output= output-append-mode "
	    "output-separately quiet? string-limit= summary summary-only "
	    "summary-sort-by= trace= trace-path= user= env= failed-only successful-only "
	    "seccomp-bpf decode-fds? decode-pids? absolute-timestamps? "
	    "relative-timestamps? syscall-times? stack-traces instruction-pointer "
	    "no-abbrev daemonize? detach-on= interruptible= debug" },
	  NULL,
	  false,
	  false },
	{ "sudo",
	  { "AbBEeHiKklNnPSsVvC:D:g:p:R:r:t:T:U:u:",
	    "askpass background bell chdir= chroot= close-from= command-timeout= edit "
	    "group= login list non-interactive other-user= preserve-env? "
	    "preserve-groups prompt= remove-timestamp reset-timestamp no-update role= "
	    "set-home shell stdin type= user= validate" },
	  NULL,
	  true,
	  true },
	{ "taskset", { "apc", "all-tasks pid cpu-list" }, is_any, false, false },
	{ "time",
	  { "apvqf:o:V", "append portability verbose quiet format= output=" },
	  NULL,
	  false,
	  false },
	{ "timeout",
	  { "k:s:vfp", "kill-after= signal= verbose foreground preserve-status" },
	  is_any,
	  false,
	  false },
	{ "unshare",
	  { "fhVmuinpCTUrR:w:S:G:c",
	    "mount? uts? ipc? net? pid? user? cgroup? time? fork map-root-user "
	    "map-current-user map-auto map-user= map-users= map-group= map-groups= "
	    "kill-child? mount-proc? mount-binfmt? propagation= setgroups= keep-caps "
	    "root= wd= setuid= setgid= monotonic= boottime= load-interp=" },
	  NULL,
	  false,
	  true },
	{ "watch",
	  { "bcCd::egn:pq:rs:twxv", "beep color no-color differences? errexit chgexit "
				    "equexit= interval= precise no-rerun shotsdir= "
				    "no-title no-wrap exec/x" },
	  NULL,
	  false,
	  false },
	{ "xargs",
	  { "0a:d:E:e::I:i::L:l::n:P:prs:txo",
	    "null arg-file= delimiter= eof? replace?i max-lines? max-args= max-procs= "
	    "interactive no-run-if-empty max-chars= verbose exit show-limits "
	    "process-slot-var= open-tty" },
	  NULL,
	  false,
	  false },
};

/* --- one runner ------------------------------------------------------------------- */

/* The options of a runner that matter. */
struct found {
	size_t split;	      /* env -S: index of the word with the text; 0: none */
	const char *text;     /* that text */
	const char *replaced; /* xargs -I: the text that stands for an input */
	bool is_direct;	      /* watch -x */
	bool only_asks;	      /* command -v */
};

static bool is_assignment(const struct bash_word *word)
{
	return word->text[0] != '=' && strchr(word->text, '=');
}

static void note_option(struct commands *into, const struct runner *r,
			const struct command_option *o, struct found *f)
{
	if (o->is_unknown)
		commands_hide(into, "an unknown option of a program that runs another");
	if (o->letter == 'S' && !strcmp(r->name, "env")) {
		f->split = o->at;
		f->text = o->value;
	}
	if ((o->letter == 'I' || o->letter == 'i') && !strcmp(r->name, "xargs"))
		f->replaced = o->value ? o->value : "{}";
	f->is_direct |= o->letter == 'x';
	f->only_asks |= (o->letter == 'v' || o->letter == 'V') &&
			!strcmp(r->name, "command");
}

/* Returns the index of the first word of the command that the program runs. */
static size_t skip_own(struct commands *into, const struct runner *r,
		       const struct words *w, struct found *f)
{
	struct command_option o;
	size_t i = 1;

	while (i < w->count && !f->split && command_option_next(&r->options, w, &i, &o))
		note_option(into, r, &o, f);
	/* For env, a "-" alone is the option -i. */
	if (i < w->count && !strcmp(r->name, "env") && word_is(w->items[i], "-"))
		i++;
	if (i < w->count && r->is_operand && r->is_operand(w->items[i]))
		i++;
	while (i < w->count && r->sets && is_assignment(w->items[i]))
		i++;
	return i;
}

static struct words rest_of(const struct words *w, size_t from, size_t stop)
{
	struct words rest = *w;

	rest.items += from;
	rest.count = stop - from;
	rest.place.depth++;
	return rest;
}

/* env -S TEXT WORD... */
static void add_split(struct commands *into, const struct words *w, const struct found *f)
{
	AUTO_FREE const struct bash_word **items = mem_new(w->count * sizeof(*items));
	AUTO_FREE char *text = text_copy(f->text);
	struct words all = rest_of(w, f->split, w->count);

	/* \_ stands for a blank there. */
	for (char *at = text; (at = strstr(at, "\\_")); at += 2)
		memset(at, ' ', 2);
	struct bash_word first = *w->items[f->split];
	first.text = text;
	memcpy(items, all.items, all.count * sizeof(*items));
	items[0] = &first;
	all.items = items;
	commands_add_words(into, &all, 0, all.count);
	if (w->has_more)
		commands_hide(into, not_known);
}

/* Adds the command that xargs runs: words with the replaced text come from the input. */
static void add_replaced(struct commands *into, const struct words *w,
			 const char *replaced)
{
	AUTO_FREE struct bash_word *words = mem_new(w->count * sizeof(*words));
	AUTO_FREE const struct bash_word **items = mem_new(w->count * sizeof(*items));
	struct words all = *w;

	for (size_t i = 0; i < w->count; i++) {
		words[i] = *w->items[i];
		items[i] = &words[i];
		if (!*replaced || !strstr(words[i].text, replaced))
			continue;
		words[i].qualities |= BASH_EXPANDS;
		words[i].computed = words[i].len;
	}
	all.items = items;
	commands_add(into, &all);
}

/* Adds words that a program gives to `sh -c` as a text. */
static void add_for_sh(struct commands *into, const struct words *w, size_t from,
		       size_t stop)
{
	struct words own = *w;

	own.place.is_in_sh = true;
	commands_add_words(into, &own, from, stop);
	if (w->has_more)
		commands_hide(into, not_known);
}

static void add_inner(struct commands *into, const struct runner *r,
		      const struct words *w, struct found *f, size_t from)
{
	struct words inner = rest_of(w, from, w->count);
	bool is_xargs = !strcmp(r->name, "xargs");

	/* `exec` without a command redirects the input of all commands behind it. */
	if (inner.count == 0 && !strcmp(r->name, "exec") && w->changes_input)
		commands_hide(into, "an `exec` that changes the shell's input");
	if (inner.count == 0 && w->has_more)
		commands_hide(into, not_known);
	if (inner.count == 0) {
		inner.input = w->input;
		inner.place.is_in_sh = true; /* $SHELL, or the user's shell */
		if (r->is_shell)
			commands_add_input(into, &inner);
		return;
	}
	inner.has_more |= is_xargs && !f->replaced;
	if (is_xargs)
		inner.input = (struct input){ INPUT_FILE, NULL }; /* /dev/null */
	if (!strcmp(r->name, "watch") && !f->is_direct)
		add_for_sh(into, &inner, 0, inner.count);
	else if (f->replaced)
		add_replaced(into, &inner, f->replaced);
	else
		commands_add(into, &inner);
}

static void add_runner(struct commands *into, const struct runner *r,
		       const struct words *w)
{
	struct found f = { 0 };
	size_t from = skip_own(into, r, w, &f);

	/* Another shell takes the option for the program. */
	if (w->place.is_in_sh && !strcmp(r->name, "exec") && from > 1)
		commands_hide(into, "an option of bash's `exec` in a text for `sh`");
	if (f.split)
		add_split(into, w, &f);
	else if (!strcmp(r->name, "flock") && from + 1 < w->count &&
		 !strncmp(w->items[from]->text, "-c", 3))
		add_for_sh(into, w, from + 1, from + 2);
	else if (!f.only_asks)
		add_inner(into, r, w, &f, from);
}

/* --- su and its like -------------------------------------------------------------- */

/* Programs with an option -c TEXT, whose text a shell runs, and without it a shell. */
static const struct runner askers[] = {
	{ "runuser",
	  { "c:fg:G:lmps:u:wPT", "command=c fast group= supp-group= login "
				 "preserve-environment shell= session-command=c user=u "
				 "whitelist-environment= pty no-pty" },
	  NULL,
	  false,
	  true },
	{ "script",
	  { "aB:c:efE:hI:m:o:O:qt::T:V", "append log-io= command=c return flush force "
					 "echo= log-in= log-out= logging-format= "
					 "output-limit= quiet timing? log-timing=" },
	  NULL,
	  false,
	  true },
	{ "su",
	  { "c:fg:G:lmps:w:PT", "command=c fast group= supp-group= login "
				"preserve-environment shell= session-command=c "
				"whitelist-environment= pty no-pty" },
	  NULL,
	  false,
	  true },
};

/* Adds what `su`, or its like, runs.  Options may stand behind operands. */
static void add_asker(struct commands *into, const struct runner *r,
		      const struct words *w)
{
	struct command_option o;
	bool has_text = false, has_user = false;
	size_t first = 0;
	struct words own = *w;

	own.place.is_in_sh = true; /* the user's shell, or $SHELL */
	for (size_t i = 1; i < w->count;) {
		if (!command_option_next(&r->options, w, &i, &o)) {
			first = first ? first : i;
			i += i < w->count;
			continue;
		}
		if (o.is_unknown)
			commands_hide(into, "an unknown option of a program that runs "
					    "another");
		has_user |= o.letter == 'u';
		if (o.letter != 'c' || !o.value)
			continue;
		has_text = true;
		if (word_is_computed(w->items[o.at]))
			commands_hide(into, not_known);
		commands_add_text(into, &own, o.value, strlen(o.value));
	}
	if (has_user && first && first < w->count) {
		const struct words inner = rest_of(w, first, w->count);
		commands_add(into, &inner);
	} else if (w->has_more) {
		commands_hide(into, not_known);
	} else if (!has_text) {
		commands_add_input(into, &own);
	}
}

/* --- find ------------------------------------------------------------------------- */

/* Returns whether the command of find -exec ends here, at ";", or at "+" behind "{}". */
static bool is_found_end(const struct words *w, size_t i)
{
	return word_is(w->items[i], ";") ||
	       (word_is(w->items[i], "+") && word_is(w->items[i - 1], "{}"));
}

/* Adds the commands of find, as in find . -exec rm {} + */
static void add_find(struct commands *into, const struct words *w)
{
	static const char *const flags[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };

	if (w->has_more)
		commands_hide(into, not_known);
	for (size_t i = 1; i < w->count; i++) {
		size_t stop = i + 1;
		if (!commands_is_in(w->items[i]->text, flags))
			continue;
		while (stop < w->count && !is_found_end(w, stop))
			stop++;
		if (stop > i + 1) {
			const struct words inner = rest_of(w, i + 1, stop);
			add_replaced(into, &inner, "{}");
		}
		i = stop;
	}
}

/* --- git -------------------------------------------------------------------------- */

/* Adds the command without the options in front of its verb, as in git -C . push, so that
 * a rule about `git push` sees it. */
static void add_git(struct commands *into, const struct words *w)
{
	static const struct option_table options = {
		"C:c:pPv", "git-dir= work-tree= namespace= super-prefix= config-env= "
			   "attr-source= exec-path? list-cmds= paginate no-pager "
			   "no-replace-objects bare literal-pathspecs glob-pathspecs "
			   "noglob-pathspecs icase-pathspecs no-optional-locks "
			   "no-lazy-fetch no-advice html-path man-path info-path"
	};
	AUTO_FREE const struct bash_word **items = mem_new(w->count * sizeof(*items));
	struct command_option o;
	struct words plain = *w;
	size_t i = 1;

	while (i < w->count && command_option_next(&options, w, &i, &o))
		;
	if (i == 1 || i == w->count)
		return;
	items[0] = w->items[0];
	memcpy(items + 1, w->items + i, (w->count - i) * sizeof(*items));
	plain.items = items;
	plain.count = w->count - i + 1;
	commands_add(into, &plain);
}

/* --- all -------------------------------------------------------------------------- */

static const struct runner *find_runner(const struct runner *rows, size_t count,
					const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

bool commands_is_runner(const char *name)
{
	return find_runner(runners, ARRAY_LEN(runners), name) ||
	       find_runner(askers, ARRAY_LEN(askers), name) || !strcmp(name, "find");
}

void commands_add_run(struct commands *into, const struct words *w)
{
	const char *name = commands_base_name(w->items[0]->text);
	const struct runner *r = find_runner(runners, ARRAY_LEN(runners), name);
	const struct runner *asker = find_runner(askers, ARRAY_LEN(askers), name);

	if (r)
		add_runner(into, r, w);
	else if (asker)
		add_asker(into, asker, w);
	else if (!strcmp(name, "find"))
		add_find(into, w);
	else if (!strcmp(name, "git"))
		add_git(into, w);
}
