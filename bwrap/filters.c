#include "bwrap/filters.h"

#include <errno.h>
#include <linux/bpf_common.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* The most instructions that the kernel takes (BPF_MAXINSNS of linux/bpf_common.h), in
 * bytes. */
#define FILTER_MAX ((size_t)BPF_MAXINSNS * sizeof(struct sock_filter))

void filters_done(struct filters *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->programs[i].filter);
	free(f->programs);
	*f = (struct filters){ 0 };
}

static int check_size(size_t size, struct err *e)
{
	if (size % sizeof(struct sock_filter) != 0)
		return err_set(e, ERR_USAGE,
			       "Invalid seccomp data, must be multiple of %zu",
			       sizeof(struct sock_filter));
	return 0;
}

int filters_read(struct filters *f, int fd, struct err *e)
{
	AUTO_CLOSE int from = fd;
	AUTO_FREE char *bytes = NULL;
	size_t size;

	if (io_read_file(from, "it", FILTER_MAX, &bytes, &size, e) < 0) {
		if (e->kind == ERR_LIMIT)
			return err_set(e, ERR_LIMIT,
				       "Can't read seccomp data: more than %d "
				       "instructions, the kernel's bound",
				       BPF_MAXINSNS);
		return err_set(e, (enum err_kind)e->kind, "Can't read seccomp data: %s",
			       err_words(e->sys));
	}
	if (check_size(size, e) < 0)
		return -1;
	if (f->count == f->room) {
		f->room = f->room ? f->room * 2 : 4;
		f->programs = mem_resize(f->programs, f->room, sizeof(*f->programs));
	}
	f->programs[f->count++] = (struct sock_fprog){
		.len = (unsigned short)(size / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)bytes,
	};
	bytes = NULL;
	return 0;
}

int filters_install(const struct filters *f, struct err *e)
{
	for (size_t i = 0; i < f->count; i++) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f->programs[i]) == 0)
			continue;
		if (errno == EINVAL) {
			(void)err_set(e, ERR_USAGE,
				      "Unable to set up system call filtering as "
				      "requested: prctl(PR_SET_SECCOMP) reported EINVAL");
			return err_remedy(e,
					  "the data is no program of seccomp(2), or the "
					  "kernel has no CONFIG_SECCOMP_FILTER");
		}
		return err_sys(e, "prctl(PR_SET_SECCOMP)");
	}
	return 0;
}
