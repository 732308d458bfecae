/* gate_report -- what hutch-gate tells the supervisor of a sandbox when its network is
 * made, or why it is not: one message of this size, before any program inside starts.  In
 * the form GATEWAY_PAIR the gateway's network namespace comes with it as a descriptor. */
#pragma once
#include <stdint.h>

#include "base/err.h"

struct gate_report {
	struct err err; /* kind ERR_NONE: the network is there */
	uint32_t form;	/* enum gateway_form */
};
