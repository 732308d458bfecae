/* device_rules -- the device rules of a container, as an eBPF program of its cgroup
 * (BPF_CGROUP_DEVICE, bpf(2)). */
#pragma once
#include <stddef.h>

struct err;
struct resources_device;

/* Attaches the rules to the cgroup `folder`.  The devices that each container has (null,
 * zero, full, random, urandom, tty, console, ptmx and pts) are allowed before them, and so
 * is making device files, which gives no access.  In a user namespace other than the
 * host's the kernel refuses the program; there no process can make a device file, so
 * nothing is lost. */
int device_rules_attach(int folder, const struct resources_device *rules, size_t count,
			struct err *e);
