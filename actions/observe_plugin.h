/* observe_plugin -- writes the observation of a plugin's action (docs/plugins.md). */
#pragma once

struct buffer;
struct known_action;
struct observed;
struct plugin_answer;

/* Writes the answer to an action that a plugin has done.  `a` was checked against the
 * length of o->content, which has the texts of its parts. */
void observe_plugin(struct buffer *out, const struct observed *o,
		    const struct known_action *known, const struct plugin_answer *a);
