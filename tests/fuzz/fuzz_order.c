/* Requests to the spawner of hutch-serve come from the process that reads HTTP, which may have
 * been taken over.  Whatever is accepted is within its bounds, and is the same when it is written
 * and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const struct list *l)
{
	if (l->count > ORDER_WORDS)
		abort();
	for (size_t i = 0; i < l->count; i++)
		if (!l->items[i])
			abort();
}

static void check(const struct order *o)
{
	if (o->kind < 0 || o->kind >= ORDER_KINDS || o->port_count > ORDER_PORTS)
		abort();
	if (strlen(o->name) > ORDER_IMAGE || strlen(o->image) > ORDER_IMAGE ||
	    strlen(o->workdir) > 4096 || strlen(o->user) > ORDER_USER)
		abort();
	for (size_t i = 0; i < o->port_count; i++)
		if (o->ports[i] == 0)
			abort();
	check_list(&o->argv);
	check_list(&o->env);
	check_list(&o->labels);
	check_list(&o->plugins);
	check_list(&o->tags);
	if (o->tags.count > ORDER_TAGS)
		abort();
}

static char *written(const struct order *o)
{
	struct buffer b;

	json_write_begin(&b);
	order_write(o, &b);
	return json_write_end(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order o, again;
	struct err e;

	if (order_read((const char *)data, size, &o, &e) == 0) {
		check(&o);
		AUTO_FREE char *text = written(&o);
		if (order_read(text, strlen(text), &again, &e) < 0)
			abort();
		AUTO_FREE char *second = written(&again);
		if (strcmp(text, second) != 0)
			abort();
		order_done(&again);
	}
	order_done(&o);
	return 0;
}
