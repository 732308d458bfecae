#include "actions/observe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "actions/action.h"
#include "actions/observe_parts.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "egress/launch/refused_host.h"
#include "protocol/action.h"
#include "sandbox/monitor/denials.h"

/* The most refused hosts that a note names. */
#define HOSTS_NAMED 3
#define HOW_TO_GO_ON                                                                  \
	"You may wait longer to see additional output by sending empty command '', "   \
	"send other commands to interact with the current process, send keys "        \
	"(\"C-c\", \"C-z\", \"C-d\") to interrupt/kill the previous command before " \
	"sending your new command, or use the timeout parameter in execute_bash for " \
	"future commands."

void observe_kind(struct buffer *out, const char *kind)
{
	json_write_open(out, NULL, "{");
	observe_member(out, "observation", kind);
}

void observe_member(struct buffer *out, const char *key, const char *text)
{
	if (text)
		json_write_bytes(out, key, text, strlen(text));
	else
		json_write_raw(out, key, "null");
}

/* Opens the member `extras`, and writes its first member. */
static void open_extras(struct buffer *out, const char *key, const char *text)
{
	json_write_open(out, "extras", "{");
	observe_member(out, key, text);
}

const char *observe_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "folder";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block device";
	default:
		return "character device";
	}
}

/* Writes the time as a decimal number of seconds. Before 1970 the seconds are negative,
 * but the nanoseconds are not: -1.25 s comes as -2 s and 750000000 ns. */
static void put_time(struct buffer *out, const struct stat_result *st)
{
	bool borrows = st->seconds < 0 && st->nanoseconds > 0;
	long long whole = (long long)st->seconds + borrows;
	unsigned parts = borrows ? 1000000000 - st->nanoseconds : st->nanoseconds;

	json_write_format(out, "mtime", "%s%lld.%09u", st->seconds < 0 ? "-" : "",
		   whole < 0 ? -whole : whole, parts);
}

static void put_stat(struct buffer *out, const struct stat_result *st)
{
	json_write_open(out, "stat", "{");
	observe_member(out, "type", observe_type(st->mode));
	json_write_format(out, "size", "%llu", (unsigned long long)st->size);
	json_write_number(out, "mode", st->mode & 07777);
	json_write_number(out, "uid", st->uid);
	json_write_number(out, "gid", st->gid);
	put_time(out, st);
	observe_member(out, "target", S_ISLNK(st->mode) ? st->target : NULL);
	json_write_close(out, "}");
}

static void put_denial(struct buffer *out, const struct denial *r)
{
	json_write_open(out, NULL, "{");
	observe_member(out, "what", r->what);
	observe_member(out, "path", r->path);
	observe_member(out, "layer", r->layer);
	observe_member(out, "rule", r->rule);
	observe_member(out, "remedy", r->remedy);
	json_write_close(out, "}");
}

static void put_denials(struct buffer *out, const struct observed *o)
{
	json_write_open(out, "refused", "[");
	for (size_t i = 0; i < o->denial_count; i++)
		put_denial(out, &o->denials[i]);
	for (size_t i = 0; i < o->refused_count; i++) {
		AUTO_FREE char *one = refused_call_json(&o->refused[i]);
		json_write_raw(out, NULL, one);
	}
	for (size_t i = 0; o->hosts && i < o->hosts->count; i++) {
		AUTO_FREE char *members = refused_host_members(&o->hosts->items[i]);
		AUTO_FREE char *one = text_format("{%s}", members);
		json_write_raw(out, NULL, one);
	}
	json_write_close(out, "]");
}

static void put_cause(struct buffer *out, const struct action *a)
{
	if (a->has_id)
		json_write_format(out, "cause", "%llu", (unsigned long long)a->id);
}

void observe_end(struct buffer *out, const struct observed *o, uint64_t cut,
		 bool is_restarted)
{
	put_cause(out, o->action);
	json_write_open(out, "hutch", "{");
	observe_member(out, "log", o->log);
	json_write_format(out, "truncated_chars", "%llu", (unsigned long long)cut);
	json_write_bool(out, "restarted", is_restarted);
	if (o->has_previous)
		json_write_bytes(out, "previous", o->previous, o->previous_len);
	else
		json_write_raw(out, "previous", "null");
	put_denials(out, o);
	if (o->stat)
		put_stat(out, o->stat);
	if (o->members)
		json_write_raw(out, NULL, o->members);
	json_write_format(out, "took_ms", "%.3f", o->took_ms);
	json_write_close(out, "}}\n");
}

/* Returns the number as Python prints a float, such as "120.0". */
static char *float_text(double seconds)
{
	char *text = text_format("%.12g", seconds);

	if (strpbrk(text, ".e"))
		return text;
	char *longer = text_format("%s.0", text);
	free(text);
	return longer;
}

static char *completed_suffix(const struct action *a, const struct report *r)
{
	AUTO_FREE char *end = text_format("The command completed with exit code %u.",
					  r->exit_code);

	if (r->flags & REPORT_NOT_TYPED)
		return text_format(
			"\n[%s The input was not sent: the command had ended.]", end);
	char c = r->flags & REPORT_KEY ? action_control(a->command) : '\0';
	if (c)
		return text_format("\n[%s CTRL+%c was sent.]", end,
				   toupper((unsigned char)c));
	return text_format("\n[%s]", end);
}

static char *suffix_of(const struct action *a, const struct report *r,
		       const struct sandbox_info *s)
{
	AUTO_FREE char *hard = float_text(a->timeout_s);

	switch (r->state) {
	case REPORT_COMPLETED:
		return completed_suffix(a, r);
	case REPORT_NO_CHANGE:
		return text_format(
			"\n[The command has no new output after %.12g seconds. " HOW_TO_GO_ON
			"]",
			s->soft_s);
	case REPORT_TIMED_OUT:
		return text_format("\n[The command timed out after %s seconds. "
				   HOW_TO_GO_ON "]", hard);
	case REPORT_BUSY:
		return text_format(
			"\n[Your command \"%s\" is NOT executed. The previous "
			"command is still running - You CANNOT send new commands "
			"until the previous command is completed. By setting "
			"`is_input` to `true`, you can interact with the current "
			"process: " HOW_TO_GO_ON "]",
			a->command);
	case REPORT_CANCELLED:
		return text_format("\n[The command was cancelled; its exit code is %u.]",
				   r->exit_code);
	default:
		return text_copy("");
	}
}

/* Returns the text in front of a command's output. While the command runs, each report
 * after its first says that the output is that of the previous command. If lines are
 * missing in front, the text says so. */
static char *prefix_of(const struct report *r)
{
	bool goes_on = r->state == REPORT_NO_CHANGE || r->state == REPORT_TIMED_OUT;
	bool is_later = goes_on && r->flags & REPORT_CONTINUED;

	const char *later = is_later || r->state == REPORT_BUSY
				    ? "[Below is the output of the previous command.]\n"
				    : "";
	if (r->lines == 0)
		return text_copy(later);
	return text_format("%s[Previous command outputs are truncated. Showing the last "
			   "%llu lines of the output below.]\n", later,
			   (unsigned long long)r->lines);
}

static const char *idle_text(const struct action *a, const struct report *r)
{
	if (r->state == REPORT_UNKNOWN_KEY)
		return "ERROR: There is no key of this name.";
	if (r->state != REPORT_NOTHING)
		return NULL;
	return *a->command ? "ERROR: No previous running command to interact with."
			   : "ERROR: No previous running command to retrieve logs from.";
}

static bool has_ended(const struct report *r)
{
	return r->state == REPORT_COMPLETED || r->state == REPORT_CANCELLED;
}

/* Returns a note about which file has the whole output, if some of it was left out
 * here. */
static char *log_note(const struct observed *o, const struct report *r)
{
	unsigned long long missing = r->unlogged;

	if (!r->cut && !r->lines)
		return text_copy("");
	if (!o->log)
		return text_copy(
			missing ? "\n[The rest of the output was not kept: logs of other "
				  "commands needed the room.]"
				: "");
	if (!missing)
		return text_format("\n[The whole output is in %s.]", o->log);
	return text_format("\n[The output is in %s, but for %llu bytes in its middle.]",
			   o->log, missing);
}

/* Returns one line for each refusal, with its reason. */
static char *refused_note(const struct observed *o)
{
	char *note = text_copy("");

	for (size_t i = 0; i < o->denial_count; i++) {
		char *before = note;
		if (!o->denials[i].sentence)
			continue;
		note = text_format("%s\n[%s]", before, o->denials[i].sentence);
		free(before);
	}
	return note;
}

/* Returns a note that names the refused system calls, if the command failed: they may be
 * the cause. */
static char *calls_note(const struct observed *o, const struct report *r)
{
	struct list names = { 0 };

	if (!has_ended(r) || r->exit_code == 0 || !o->refused_count)
		return text_copy("");
	for (size_t i = 0; i < o->refused_count; i++) {
		AUTO_FREE char *name = syscall_text(o->refused[i].call);
		list_add(&names, name);
	}
	AUTO_FREE char *all = list_join(&names, 0, ", ");
	list_done(&names);
	return text_format("\n[The sandbox refused system calls that no process in "
			   "it may make: %s.]", all);
}

/* Returns a line for each host that rules have refused, a few at most, with the flag that
 * would allow it. */
static char *hosts_note(const struct observed *o)
{
	char *note = text_copy("");

	for (size_t i = 0; o->hosts && i < o->hosts->count && i < HOSTS_NAMED; i++) {
		char *before = note;
		AUTO_FREE char *said = refused_host_sentence(&o->hosts->items[i]);
		AUTO_FREE char *remedy = refused_host_remedy(&o->hosts->items[i]);
		note = text_format("%s\n[hutch: %s; %s]", before, said, remedy);
		free(before);
	}
	return note;
}

/* Returns the text behind a command's output: OpenHands' suffix, and notes for the model
 * about how the command ended. */
static char *suffix_with_notes(const struct observed *o, const struct report *r,
			       const struct sandbox_info *s)
{
	AUTO_FREE char *suffix = suffix_of(o->action, r, s);
	AUTO_FREE char *oom =
		o->oom_limit
			? text_format(
				  "\n[Out of memory: everything that ran was killed at the limit of "
				  "%llu MiB.]",
				  (unsigned long long)o->oom_limit >> 20)
			: text_copy("");
	AUTO_FREE char *restarted =
		r->flags & REPORT_RESTARTED
			? text_format(
				  "\n[The shell had ended; this is a new one, in %s.]",
				  r->cwd)
			: text_copy("");

	const char *closed =
		o->action->is_static && !has_ended(r) && !idle_text(o->action, r)
			? "\n[It ran in a session of its own (is_static) and was ended: nothing can be "
			  "sent to it any more.]"
			: "";

	AUTO_FREE char *calls = calls_note(o, r);
	AUTO_FREE char *refused = refused_note(o);
	AUTO_FREE char *hosts = hosts_note(o);
	AUTO_FREE char *log = log_note(o, r);

	return text_format("%s%s%s%s%s%s%s%s", suffix, oom, restarted, closed, calls,
			   refused, hosts, log);
}

static void put_metadata(struct buffer *out, const struct observed *o,
			 const struct report *r, const struct sandbox_info *s)
{
	AUTO_FREE char *suffix = suffix_with_notes(o, r, s);
	AUTO_FREE char *prefix = prefix_of(r);
	bool is_known = has_ended(r);

	json_write_open(out, "metadata", "{");
	json_write_number(out, "exit_code", is_known ? (int)r->exit_code : -1);
	json_write_number(out, "pid",
			  is_known && r->background ? (int)r->background : -1);
	observe_member(out, "username", is_known ? s->username : NULL);
	observe_member(out, "hostname", is_known ? s->hostname : NULL);
	observe_member(out, "working_dir", is_known ? r->cwd : NULL);
	observe_member(out, "py_interpreter_path", is_known ? r->interpreter : NULL);
	observe_member(out, "prefix", prefix);
	observe_member(out, "suffix", suffix);
	json_write_close(out, "}");
}

void observe_run(struct buffer *out, const struct observed *o, const struct report *r,
		 const struct sandbox_info *s)
{
	const struct action *a = o->action;
	const char *idle = idle_text(a, r);
	const char *command = idle ? "" : a->command; /* an action that only waits has an
						       * empty command here, as in
						       * OpenHands */
	int code = has_ended(r) ? (int)r->exit_code : -1;
	AUTO_FREE char *message = text_format("Command `%s` executed with exit code %d.",
					      command, code);

	observe_kind(out, "run");
	observe_member(out, "message", message);
	if (idle)
		observe_member(out, "content", idle);
	else
		json_write_bytes(out, "content", o->content, o->len);
	json_write_bool(out, "success", code == 0);
	open_extras(out, "command", command);
	json_write_bool(out, "hidden", a->is_hidden && !idle);
	put_metadata(out, o, r, s);
	json_write_close(out, "}");
	observe_end(out, o, r->cut, r->flags & REPORT_RESTARTED);
}

void observe_error(struct buffer *out, const struct observed *o, const char *error_id,
		   const char *text)
{
	AUTO_FREE char *refused = refused_note(o);
	AUTO_FREE char *all = text_format("%s%s", text, refused);

	observe_kind(out, "error");
	observe_member(out, "message", all);
	observe_member(out, "content", all);
	open_extras(out, "error_id", error_id);
	json_write_close(out, "}");
	observe_end(out, o, 0, false);
}

static const struct mime {
	const char *ending, *type;
} mimes[] = {
	{ ".png", "image/png" },	 { ".jpg", "image/jpeg" },
	{ ".jpeg", "image/jpeg" },	 { ".bmp", "image/bmp" },
	{ ".gif", "image/gif" },	 { ".pdf", "application/pdf" },
	{ ".mp4", "video/mp4" },	 { ".webm", "video/webm" },
	{ ".ogg", "video/ogg" },
};

const char *observe_mime(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (size_t i = 0; ending && i < ARRAY_LEN(mimes); i++)
		if (!strcasecmp(ending, mimes[i].ending))
			return mimes[i].type;
	return NULL;
}

/* Returns the error text for a failed read or write, in OpenHands' words. */
static char *file_error(const struct action *a, const struct done *d)
{
	bool is_write = a->kind == ACT_WRITE;

	switch (d->outcome) {
	case OUTCOME_NOT_FOUND:
		return is_write ? text_format("File not found: %s", d->path)
				: text_format("File not found: %s. Your current working "
					      "directory is %s.", d->path, d->cwd);
	case OUTCOME_IS_FOLDER:
		return text_format("Path is a directory: %s. You can only %s files",
				   d->path, is_write ? "write to" : "read");
	case OUTCOME_NOT_UTF8:
		return text_format("File could not be decoded as utf-8: %s.", d->path);
	case OUTCOME_BINARY:
		return text_copy("ERROR_BINARY_FILE");
	case OUTCOME_TOO_LARGE:
		return text_format("File is too large: %s. At most %u MiB are read or "
				   "written at once.", d->path, ACTION_FILE_MAX >> 20);
	case OUTCOME_NOT_REGULAR:
		return text_format("Not a regular file: %s.", d->path);
	default:
		return text_format("%s: %s", d->path, err_words((int)d->sys));
	}
}

static bool put_failure(struct buffer *out, const struct observed *o,
			const struct done *d)
{
	if (d->outcome == OUTCOME_DONE)
		return false;
	AUTO_FREE char *text = file_error(o->action, d);
	observe_error(out, o, "", text);
	return true;
}

void observe_read(struct buffer *out, const struct observed *o, const struct done *d)
{
	const char *mime = observe_mime(o->action->path);

	if (put_failure(out, o, d))
		return;
	AUTO_FREE char *message = text_format("I read the file %s.", d->path);
	observe_kind(out, "read");
	observe_member(out, "message", message);
	AUTO_FREE char *front = mime ? text_format("data:%s;base64,", mime)
				     : text_copy("");
	json_write_open(out, "content", "\"");
	json_write_part(out, front, strlen(front));
	json_write_part(out, o->content, o->len);
	json_write_close(out, "\"");
	open_extras(out, "path", d->path);
	observe_member(out, "impl_source", "default");
	json_write_close(out, "}");
	observe_end(out, o, 0, false);
}

void observe_write(struct buffer *out, const struct observed *o, const struct done *d)
{
	if (put_failure(out, o, d))
		return;
	AUTO_FREE char *message = text_format("I wrote to the file %s.", d->path);
	observe_kind(out, "write");
	observe_member(out, "message", message);
	observe_member(out, "content", "");
	open_extras(out, "path", d->path);
	json_write_close(out, "}");
	observe_end(out, o, 0, false);
}

/* Writes the members that only an edit's answer has: the action's old and new text, and
 * the diff. */
static void put_difference(struct buffer *out, const struct observed *o,
			   const struct edited *x)
{
	const uint8_t *content = o->content;

	json_write_bool(out, "prev_exist", false);
	observe_member(out, "old_content", o->action->old_str);
	observe_member(out, "new_content", o->action->new_str);
	observe_member(out, "impl_source", "oh_aci");
	json_write_bytes(out, "diff", content ? content + x->text_len : NULL,
			 o->len - x->text_len);
	json_write_raw(out, "_diff_cache", "null");
}

void observe_edit(struct buffer *out, const struct observed *o, const struct edited *x)
{
	bool is_edit = o->action->kind == ACT_EDIT;
	const char *path = o->action->path;

	if (x->outcome == OUTCOME_BINARY)
		return observe_error(out, o, "", "ERROR_BINARY_FILE");
	AUTO_FREE char *message =
		text_format("I %s the file %s.", is_edit ? "edited" : "read", path);
	observe_kind(out, is_edit ? "edit" : "read");
	observe_member(out, "message", message);
	json_write_bytes(out, "content", o->content, x->text_len);
	open_extras(out, "path", path);
	if (is_edit)
		put_difference(out, o, x);
	else
		observe_member(out, "impl_source", "oh_aci");
	json_write_close(out, "}");
	observe_end(out, o, x->cut, false);
}

/* Writes a list of names, from a list of NAME=value or names. */
static void put_names(struct buffer *out, const char *key, const struct list *words)
{
	json_write_open(out, key, "[");
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];
		json_write_bytes(out, NULL, word, strcspn(word, "="));
	}
	json_write_close(out, "]");
}

/* Returns a text that says which values are too short to be redacted; allocated. */
static char *short_text(const struct list *not_hidden)
{
	char *text = text_copy("");

	for (size_t i = 0; i < not_hidden->count; i++) {
		char *longer =
			text_format("%sThe value of %s is shorter than %d bytes, and is "
				    "not hidden.\n",
				    text, not_hidden->items[i], REDACT_MIN);
		free(text);
		text = longer;
	}
	return text;
}

void observe_env(struct buffer *out, const struct observed *o, const struct list *hidden,
		 const struct list *not_hidden)
{
	AUTO_FREE char *content = short_text(not_hidden);
	const struct action *a = o->action;
	AUTO_FREE char *message =
		text_format("I set %zu and unset %zu environment variables.",
			    a->set.count, a->unset.count);

	observe_kind(out, "env");
	observe_member(out, "message", message);
	observe_member(out, "content", content);
	json_write_open(out, "extras", "{");
	put_names(out, "set", &a->set);
	put_names(out, "unset", &a->unset);
	put_names(out, "secret", hidden);
	json_write_close(out, "}");
	observe_end(out, o, 0, false);
}

void observe_nothing(struct buffer *out, const struct observed *o)
{
	observe_kind(out, "null");
	observe_member(out, "message", "");
	observe_member(out, "content", "");
	json_write_raw(out, "extras", "{}");
	observe_end(out, o, 0, false);
}

static void open_notification(struct buffer *out, const char *method)
{
	json_write_open(out, NULL, "{");
	observe_member(out, "jsonrpc", "2.0");
	observe_member(out, "method", method);
	json_write_open(out, "params", "{");
}

void observe_output(struct buffer *out, const struct observed *o, bool is_rpc)
{
	if (is_rpc)
		open_notification(out, "output");
	else
		json_write_raw(out, NULL, "{\"event\":\"output\"");
	put_cause(out, o->action);
	observe_member(out, "session", o->action->session);
	if (o->dropped)
		json_write_format(out, "dropped", "%llu", (unsigned long long)o->dropped);
	else
		json_write_bytes(out, "data", o->content, o->len);
	json_write_close(out, is_rpc ? "}}\n" : "}\n");
}

void observe_ask(struct buffer *out, const struct observed *o, const struct question *q,
		 bool is_rpc)
{
	if (is_rpc)
		open_notification(out, "event");
	else
		json_write_open(out, NULL, "{");
	observe_member(out, "event", "ask");
	json_write_number(out, "ask", q->number);
	put_cause(out, o->action);
	if (q->request)
		json_write_raw(out, "request", q->request);
	observe_member(out, "session", o->action->session);
	observe_member(out, "action", q->action);
	observe_member(out, "about", q->about);
	observe_member(out, "risk", q->risk);
	observe_member(out, "reason", q->reason);
	json_write_close(out, is_rpc ? "}}\n" : "}\n");
}
