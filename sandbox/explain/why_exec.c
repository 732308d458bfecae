/* Tells whether a command can be run: judges the named file, then its interpreter
 * (the program after "#!" or the dynamic linker), then that program's interpreter,
 * and so on. */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/explain/why.h"
#include "sandbox/explain/why_parts.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/plan.h"

#define HEAD_MAX	 4096 /* a program's headers are at the beginning of its file,
			       * so this much is read */
#define SCRIPT_MAX	 255  /* BINPRM_BUF_SIZE - 1: the kernel reads this much of the
			       * first line */
#define INTERPRETERS_MAX 4    /* the limit of nested interpreters in execve(2) */

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct head {
	char bytes[HEAD_MAX + 1];
	size_t len;
};

/* Reads the beginning of a file.  Returns false if the file cannot be read. */
static bool read_head(const struct why *w, const struct found *f, struct head *ret)
{
	AUTO_CLOSE int fd = lookup_open(w->lookup, f);
	ssize_t len = fd < 0 ? -1 : read(fd, ret->bytes, HEAD_MAX);

	ret->len = len < 0 ? 0 : (size_t)len;
	ret->bytes[ret->len] = '\0';
	return len >= 0;
}

/* Returns the word behind "#!", allocated; NULL: the file does not begin with
 * "#!". */
static char *script_interpreter(const struct head *h)
{
	if (h->len < 2 || memcmp(h->bytes, "#!", 2))
		return NULL;
	const char *word = h->bytes + 2 + strspn(h->bytes + 2, " \t");
	size_t len = strcspn(word, " \t\n"),
	       room = SCRIPT_MAX - (size_t)(word - h->bytes);

	return len ? text_format("%.*s", (int)(len < room ? len : room), word) : NULL;
}

static bool is_elf(const struct head *h)
{
	return h->len >= sizeof(Elf64_Ehdr) && !memcmp(h->bytes, ELFMAG, SELFMAG);
}

/* Returns the dynamic linker that the program names, allocated; NULL: the
 * program names none, or not at the beginning of the file. */
static char *elf_interpreter(const struct head *h)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	memcpy(&head, h->bytes, sizeof(head));
	for (size_t i = 0; i < head.e_phnum; i++) {
		uint64_t at = head.e_phoff + i * sizeof(part);
		if (at > h->len || h->len - at < sizeof(part))
			return NULL;
		memcpy(&part, h->bytes + at, sizeof(part));
		if (part.p_type != PT_INTERP)
			continue;
		if (part.p_offset > h->len || h->len - part.p_offset < part.p_filesz)
			return NULL;
		return text_format("%.*s", (int)part.p_filesz, h->bytes + part.p_offset);
	}
	return NULL;
}

static bool is_of_this_machine(const struct head *h)
{
	Elf64_Ehdr head;

	memcpy(&head, h->bytes, sizeof(head));
	return head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == MACHINE;
}

static void refuse(struct answer *ret, const char *layer, const struct found *f,
		   const char *why)
{
	answer_set(ret, false, layer, text_format("%s %s", f->path, why));
}

static bool is_noexec(const struct found *f)
{
	struct statvfs host;

	/* The procfs is mounted noexec, but /proc/PID/exe leads to a file outside of
	 * the procfs. */
	if (f->step->kind == STEP_PROC)
		return strcmp(strrchr(f->path, '/'), "/exe") != 0;
	if (f->step->attr & MOUNT_ATTR_NOEXEC)
		return true;
	return f->host && statvfs(f->host, &host) == 0 && host.f_flag & ST_NOEXEC;
}

/* Judges whether the file itself may be run, without its interpreters. */
static bool may_run(const struct why *w, const struct found *f, struct answer *ret)
{
	if (!S_ISREG(f->st.st_mode))
		refuse(ret, "files", f,
		       S_ISDIR(f->st.st_mode) ? "is a folder" : "is no file");
	else if (!lookup_may(w->lookup, f, X_OK))
		refuse(ret, "permissions", f, "may not be run, by its mode and owner");
	else if (is_noexec(f))
		refuse(ret, "mounts", f, "is where nothing may be run (noexec)");
	else
		return true;
	ret->line = why_line(w, f);
	return false;
}

/* Returns the interpreter that would run the file, allocated; NULL: the file
 * needs none, or *ret has the reason why the file cannot be run. */
static char *next_of(const struct why *w, const struct found *f, struct answer *ret)
{
	struct head h;
	char *next;

	if (!read_head(w, f, &h))
		return NULL; /* a program that cannot be read may still be executed */
	next = script_interpreter(&h);
	if (next)
		return next;
	if (!is_elf(&h))
		refuse(ret, "files", f,
		       "is neither a program nor a script that says by what it is run (#!)");
	else if (!is_of_this_machine(&h))
		refuse(ret, "files", f, "is a program of another machine");
	else
		return elf_interpreter(&h);
	return NULL;
}

/* Returns whether `path`, and every interpreter that it needs, can be run. */
static bool can_run(const struct why *w, const char *path, int depth, struct answer *ret)
{
	struct found f;
	AUTO_FREE char *next = NULL;
	bool is_there = why_find(w, path, &f, ret) && may_run(w, &f, ret);

	if (is_there) {
		answer_set(ret, true, "mounts", text_format("%s can be run", f.path));
		ret->line = why_line(w, &f);
		next = next_of(w, &f, ret);
	}
	if (next && depth == INTERPRETERS_MAX)
		refuse(ret, "files", &f,
		       "is run by a script that is run by a script, and so on");
	else if (next && !can_run(w, next, depth + 1, ret)) {
		AUTO_FREE char *why = text_copy(ret->text);
		AUTO_FREE char *whole =
			text_format("%s is run by %s, and %s", path, next, why);
		own_free(&ret->text);
		ret->text = text_copy(whole);
	} else if (next) {
		own_free(&ret->text);
		ret->text = text_format("%s can be run", path);
	}
	found_done(&f);
	return ret->is_yes;
}

/* Returns the first file with that name that may be run, in the order of the
 * PATH's folders, allocated; NULL: there is none. */
static char *search(const struct why *w, const char *folders, const char *name)
{
	for (const char *at = folders; at;) {
		size_t len = strcspn(at, ":");
		AUTO_FREE char *path =
			text_format("%.*s/%s", (int)len, len ? at : ".", name);
		AUTO_FREE char *whole = why_whole(w, path);
		struct found f;
		lookup_path(w->lookup, whole, true, &f);
		bool is_it = f.kind == FOUND && S_ISREG(f.st.st_mode) &&
			     lookup_may(w->lookup, &f, X_OK);
		found_done(&f);
		if (is_it)
			return text_copy(whole);
		at = at[len] ? at + len + 1 : NULL;
	}
	return NULL;
}

void why_exec(const struct why *w, const char *command, struct answer *ret)
{
	const char *folders = list_get_env(&w->plan->env, "PATH");
	AUTO_FREE char *found = strchr(command, '/') ?
					text_copy(command) :
					search(w, folders ? folders : "", command);

	if (found) {
		(void)can_run(w, found, 0, ret);
		return;
	}
	answer_set(
		ret, false, "files",
		text_format("%s is in none of the folders of the PATH inside", command));
	ret->line = text_format("-e PATH=%s", folders ? folders : "");
}
