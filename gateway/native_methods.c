/* The methods that the native API has; docs/control.md says of each what it does. */
#include "gateway/native.h"

#define NEEDS_DESCRIPTOR                                                                       \
	"the method takes a descriptor, which HTTP does not carry; on the server's host, the " \
	"program hutch does it"
#define OWN_CONNECTION \
	"the method is about a client's own connection, which is the server's"

const struct native_method native_methods[] = {
	{ .name = "info" },
	{ .name = "exec.start", .wakes = true, .has_process = true },
	{ .name = "exec.wait" },
	{ .name = "exec.attach", .form = NATIVE_STREAM, .has_process = true },
	{ .name = "exec.write", .form = NATIVE_PLAIN },
	{ .name = "exec.signal", .form = NATIVE_PLAIN },
	{ .name = "exec.resize", .form = NATIVE_PLAIN },
	{ .name = "exec.list", .form = NATIVE_PLAIN },
	{ .name = "copy.out", .form = NATIVE_STREAM, .wakes = true, .has_process = true },
	{ .name = "copy.in", .wakes = true, .has_process = true },
	{ .name = "act", .wakes = true },
	{ .name = "cancel", .form = NATIVE_PLAIN },
	{ .name = "pause", .form = NATIVE_PLAIN },
	{ .name = "unpause", .form = NATIVE_PLAIN },
	{ .name = "stop", .form = NATIVE_PLAIN },
	{ .name = "kill", .form = NATIVE_PLAIN },
	{ .name = "stats", .form = NATIVE_PLAIN },
	{ .name = "logs", .form = NATIVE_STREAM },
	{ .name = "events.subscribe", .form = NATIVE_STREAM, .is_endless = true },
	{ .name = "update", .form = NATIVE_PLAIN, .is_operators = true },
	{ .name = "port.list", .form = NATIVE_PLAIN },
	{ .name = "port.remove", .form = NATIVE_PLAIN },
	{ .name = "net.list", .form = NATIVE_PLAIN },
	{ .name = "net.set", .form = NATIVE_PLAIN, .is_operators = true },
	{ .name = "net.add", .form = NATIVE_PLAIN, .is_operators = true },
	{ .name = "net.remove", .form = NATIVE_PLAIN, .is_operators = true },
	{ .name = "net.answer", .form = NATIVE_PLAIN, .is_operators = true },
	{ .name = "hello", .refusal = OWN_CONNECTION },
	{ .name = "act.stream", .refusal = OWN_CONNECTION },
	{ .name = "release", .refusal = OWN_CONNECTION },
	{ .name = "rename", .refusal = "the server knows a sandbox by its name" },
	{ .name = "diff", .refusal = NEEDS_DESCRIPTOR },
	{ .name = "snapshot", .refusal = NEEDS_DESCRIPTOR },
	{ .name = "port.add", .refusal = NEEDS_DESCRIPTOR },
	{ .name = "net.connect", .refusal = NEEDS_DESCRIPTOR },
	{ .name = 0 },
};
