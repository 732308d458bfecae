#include "supervisor/events.h"

#include <stdlib.h>
#include <time.h>

#include "base/list.h"
#include "base/own.h"

void events_done(struct events *ev)
{
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		free(ev->kept[i]);
	*ev = (struct events){ 0 };
}

int64_t events_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *events_time(int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	return text_format("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
			   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			   (int)(ms % 1000));
}

const char *events_add(struct events *ev, const char *name, const char *more)
{
	char **place = &ev->kept[ev->next % EVENTS_KEPT];
	AUTO_FREE char *time = events_time(events_now());

	free(*place);
	*place = text_format("{\"n\":%llu,\"time\":\"%s\",\"event\":\"%s\"%s%s}",
			     (unsigned long long)ev->next, time, name, *more ? "," : "",
			     more);
	ev->next++;
	return *place;
}


const char *events_get(const struct events *ev, uint64_t n)
{
	if (n >= ev->next || n + EVENTS_KEPT < ev->next)
		return NULL;
	return ev->kept[n % EVENTS_KEPT];
}
