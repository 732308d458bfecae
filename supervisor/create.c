#include "supervisor/create.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "policy/policy.h"
#include "policy/signal_name.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/saved_spec.h"
#include "supervisor/create_options.h"
#include "supervisor/supervisor.h"

/* Leaves the caller's session and working directory: a process in a directory keeps its
 * file system from being unmounted. */
static int leave_caller(struct err *e)
{
	if (launch_leave_caller(e) < 0)
		return -1;
	if (chdir("/") < 0)
		return err_sys(e, "chdir /");
	(void)prctl(PR_SET_NAME, "hutch");
	return 0;
}

/* Prepares the launch.  The image of a kept sandbox may be missing: it was removed, or
 * another image has got its name and it was deleted as unused. */
static int prepare(struct launch *l, const struct create_options *o, struct err *e)
{
	const struct saved_spec *d = &o->saved_spec;

	if (launch_prepare(l, false, e) == 0)
		return 0;
	if (o->options.verb != VERB_START || !d->digest || e->kind != ERR_NOT_FOUND)
		return -1;
	(void)err_set(e, ERR_NOT_FOUND,
		      "the image that sandbox '%s' was made of is gone: %.200s, "
		      "with the digest sha256:%s",
		      o->name, d->image, d->digest);
	return err_remedy(
		e,
		"hutch image pull brings it back if a registry has that digest; what was "
		"written over it is in %.150s/files/upper",
		d->path);
}

/* Finds the saved spec again, with its lock, from which these options were read:
 * meanwhile another sandbox may have got the name. */
static int take_again(const struct create_options *o, struct saved_spec *d, struct err *e)
{
	if (saved_spec_find(o->name, d, e) < 0)
		return -1;
	if (strcmp(d->id, o->saved_spec.id) != 0 || strcmp(d->name, o->name) != 0)
		return err_set(e, ERR_BUSY,
			       "sandbox '%s' was renamed, or removed and made anew, "
			       "meanwhile",
			       o->name);
	return saved_spec_take(d, e);
}

/* Creates the saved spec of a kept sandbox or, for a start, finds it again.  This
 * process then holds its lock. */
static int hold(struct launch *l, const struct create_options *o, struct saved_spec *d,
		struct err *e)
{
	if (o->options.verb == VERB_START) {
		if (take_again(o, d, e) < 0)
			return -1;
		if (d->image) { /* show the image under the name that the user gave, not
				 * its digest */
			free(l->store_image.name);
			l->store_image.name = text_copy(d->image);
		}
		return 0;
	}
	memcpy(d->name, l->entry->name, sizeof(d->name));
	memcpy(d->id, l->entry->id, sizeof(d->id));
	if (o->policy.image == IMAGE_STORE) {
		d->image = text_copy(l->store_image.name);
		d->digest = text_copy(l->store_image.image.hex);
	}
	d->places = text_copy(o->places);
	d->profile = o->profile ? text_copy(o->profile) : NULL;
	d->args = o->kept_args ? text_copy(o->kept_args) : NULL;
	return saved_spec_make(d, o->said, e);
}

static int claim(const struct create_options *o, struct registry_entry *entry,
		 struct err *e)
{
	if (o->options.verb == VERB_START)
		return registry_create_again(o->name, o->saved_spec.id, entry, e);
	if ((o->options.lease_fd > 0 ? registry_create_waiting(o->name, entry, e)
				     : registry_create(o->name, entry, e)) < 0)
		return -1;
	if (o->options.leaves_nothing && registry_leave_nothing(entry, e) < 0)
		return -1;
	return saved_spec_check_free(o->name, e);
}

/* Returns the signal by which the main process is asked to end; 0: the image names none
 * that exists. */
static int stop_signal(const struct launch *l, const struct create_options *o)
{
	const char *said = l->store_image.launch_config.stop_signal;

	if (o->options.stop_signal)
		return o->options.stop_signal;
	return o->policy.image == IMAGE_STORE && said ? signal_name_parse(said) : SIGTERM;
}

static int check_stop_signal(const struct launch *l, const struct create_options *o,
			     struct err *e)
{
	const struct store_image *image = &l->store_image;

	if (!o->options.has_main || stop_signal(l, o))
		return 0;
	return err_set(
		e, ERR_UNSUPPORTED,
		"the StopSignal of the image %.200s is '%.60s', which is no signal",
		image->name, image->launch_config.stop_signal);
}

static int start(struct launch *l, const struct create_options *o,
		 struct registry_entry *entry, struct saved_spec *kept, struct err *e)
{
	if (prepare(l, o, e) < 0 || check_stop_signal(l, o, e) < 0 ||
	    claim(o, entry, e) < 0)
		return -1;
	l->entry = entry;
	if (o->policy.keeps && hold(l, o, kept, e) < 0)
		return -1;
	AUTO_CLOSE int words = fcntl(2, F_DUPFD_CLOEXEC, 3);
	if (words >= 0)
		l->words = words;
	/* Changing the directory is safe now: all relative paths have been resolved. */
	if (leave_caller(e) < 0)
		return -1;
	AUTO_FREE char *files = o->policy.keeps ? saved_spec_files(kept) : NULL;
	l->files = files;
	if (launch_start(l, e) < 0)
		return -1;
	return o->policy.keeps ? saved_spec_note(kept, l->sandbox.pid, e) : 0;
}

/* Records in the audit log that the sandbox could not be started. */
static void record_failure(struct launch *l, const struct err *why)
{
	const struct audit_end x = { .reason = "error",
				     .exit_code = EXIT_HUTCH,
				     .error = why,
				     .cgroup = &l->cgroup };

	if (l->audit.has_launch)
		(void)audit_end(&l->audit, &x, NULL); /* on failure: the error is
						       * reported to the waiting process
						       * anyway */
	else
		audit_refused(&l->audit, "launch", why);
}

/* Undoes a start that failed.  The saved spec of a new sandbox is removed; that of a
 * sandbox which could not be started again is kept. */
static void undo(struct launch *l, const struct create_options *o,
		 struct registry_entry *entry, struct saved_spec *kept)
{
	launch_done(l);
	cow_done(&l->cow); /* no command has run, so the copy-on-write copies have no
			    * changes */
	launch_init(l, &o->policy);
	if (kept->path && o->options.verb != VERB_START)
		(void)saved_spec_remove(kept, NULL); /* on failure: the saved spec that
						      * was just made remains */
	if (entry->name[0])
		(void)registry_end(entry, "{\"reason\":\"error\"}", REGISTRY_REMOVE,
				   NULL);
}

/* Runs the supervisor in the background process, and writes the outcome of the start to
 * `ready`, where the process that the user has started waits. */
static void run_supervisor(const struct create_options *o, int ready)
{
	struct registry_entry entry;
	struct saved_spec kept;
	struct launch l;
	struct start_report failed = { .exit_code = EXIT_HUTCH };
	struct err *e = &failed.error;

	launch_init(&l, &o->policy);
	l.verb = create_options_verb(o);
	l.cgroup.waiter = getppid(); /* the waiting process, hutch create; it ends when
				      * the sandbox is ready */
	registry_init(&entry);
	saved_spec_init(&kept);
	if (start(&l, o, &entry, &kept, e) < 0) {
		record_failure(&l, e);
		undo(&l, o, &entry, &kept);
		(void)io_write_all(ready, &failed, sizeof(failed));
	} else {
		struct supervisor s = {
			.launch = &l,
			.entry = &entry,
			.ready = ready,
			.listener = -1,
			.saved_spec = o->policy.keeps ? &kept : NULL,
			.is_restart = o->options.verb == VERB_START,
			.clocks = { .timeout_ms = (int64_t)o->policy.timeout_ms,
				    .ttl_ms = (int64_t)o->options.ttl_ms,
				    .idle_ms = (int64_t)o->options.idle_ms },
			.samples.every_ms = (int64_t)o->options.sample_ms,
			.main = { .state = o->options.has_main ? MAIN_NEW : MAIN_NONE,
				  .stop_signal = stop_signal(&l, o),
				  .stop_ms = o->options.has_stop_timeout
						     ? o->options.stop_timeout_ms
						     : MAIN_STOP_MS,
				  .restarts.rule = o->options.restart },
			.leaves_nothing = o->options.leaves_nothing,
			.lease = { .fd = o->options.lease_fd,
				   .is_waiting = o->options.lease_fd > 0 },
		};
		supervisor_run(&s);
	}
	launch_done(&l);
	cow_done(&l.cow); /* the copies of folders stay; clients apply or discard them
			   * later */
	saved_spec_done(&kept);
	registry_done(&entry);
}

/* Waits until the background process reports that the sandbox is ready, or could not be
 * made.  Returns the exit code.  A command of the host may have been looked for inside:
 * only this process, which is not confined, can look for it here. */
static int wait_ready(const struct create_options *o, int ready, struct err *e)
{
	struct start_report x;

	if (io_read_full(ready, &x, sizeof(x)) != (ssize_t)sizeof(x)) {
		(void)err_set(e, ERR_INTERNAL,
			      "the supervisor ended before the sandbox was ready");
		return EXIT_HUTCH;
	}
	*e = x.error;
	if (e->kind == ERR_NONE)
		return 0;
	if (x.exit_code == EXIT_NOT_FOUND && o->policy.image != IMAGE_STORE)
		report_explain_missing(e, &o->policy);
	return x.exit_code;
}

/* Returns the exit code. */
static int create(struct create_options *o, struct err *e)
{
	int ends[2];

	report_network(&o->policy);
	report_secrets(&o->policy);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "pipe"), EXIT_HUTCH;
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork"), EXIT_HUTCH;
	if (pid == 0) {
		(void)close(ends[0]);
		/* A reader of the JSON object waits until all writers have closed the
		 * descriptor; it must not wait for the sandbox's end. */
		if (o->options.json_fd > 2)
			own_close(&o->options.json_fd);
		run_supervisor(o, ends[1]);
		_exit(0);
	}
	if (o->options.lease_fd > 0)
		own_close(&o->options.lease_fd); /* otherwise the lease's holder would
						  * not see the supervisor close its
						  * end */
	(void)close(ends[1]);
	int code = wait_ready(o, ends[0], e);
	if (code == 0)
		report_shared_network(&o->policy);
	return code;
}

static int made(const struct create_options *o, struct err *e)
{
	if (printf("%s\n", o->name) >= 0 && fflush(stdout) == 0)
		return 0;
	(void)err_sys(e, "write the name of sandbox '%s', which is there", o->name);
	return err_remedy(e, "hutch rm -f %s removes it", o->name);
}

/* Reports the error and returns the exit code.  ERR_NONE: hutch-image has reported the
 * error already. */
static int failed(int code, const struct err *e)
{
	if (e->kind != ERR_NONE)
		report_error(e);
	return code;
}

static int report_object(const struct create_options *o, int code, const struct err *e)
{
	static const struct err reported = { .kind = ERR_INTERNAL,
					     .text = "the error was printed on stderr" };
	static const struct err none = { .kind = ERR_NONE };
	const struct err *why = code == 0 ? &none : e->kind == ERR_NONE ? &reported : e;

	return report_made(o->options.json_fd, o->name, why) < 0 && !code ? EXIT_HUTCH
									  : code;
}

int create_verb(enum verb verb, char **argv)
{
	struct err e = { .kind = ERR_NONE };
	struct create_options o;
	int code;

	create_options_init(&o, verb);
	launch_ready();
	if (create_options_parse(&o, argv, &e) < 0) {
		code = failed(EXIT_HUTCH, &e);
	} else if (o.options.wants_help) {
		options_print_help(o.options.verb), code = 0;
	} else {
		/* Other descriptors are closed only now, after the options were read,
		 * since --secret-file <(...) reads one of them. */
		launch_close_others(o.options.json_fd, o.options.lease_fd);
		code = create(&o, &e);
		if (code == 0 && made(&o, &e) < 0)
			code = EXIT_HUTCH;
		if (code != 0)
			code = failed(code, &e);
	}
	if (!o.options.wants_help)
		code = report_object(&o, code, &e);
	create_options_done(&o);
	return code;
}
