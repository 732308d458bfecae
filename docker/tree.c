#include "docker/tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"

#define NEVER "0001-01-01T00:00:00Z"

static char *text_of(struct json_view object, const char *path)
{
	char *text = json_view_string(json_view_get(object, path));

	return text ? text : text_copy("");
}

static int64_t number_of(struct json_view object, const char *path)
{
	int64_t number = 0;

	(void)json_view_integer(json_view_get(object, path), &number);
	return number;
}

/* Writes a value that hutch wrote, or `otherwise` where there is none. */
static void put_raw(struct buffer *b, const char *key, struct json_view value,
		    const char *otherwise)
{
	if (!value.text || json_view_type(value) == JSON_NULL) {
		json_write_raw(b, key, otherwise);
		return;
	}
	AUTO_FREE char *text = strndup(value.text, value.len);
	if (!text)
		abort();
	json_write_raw(b, key, text);
}

/* Writes an array of strings on one line; hutch inspect has an item on each. */
static void put_words(struct buffer *b, const char *key, struct json_view words)
{
	struct json_view_place place = { 0 };

	json_write_open(b, key, "[");
	while (json_view_step(words, &place)) {
		AUTO_FREE char *word = json_view_string(place.value);
		json_write_text(b, NULL, word ? word : "");
	}
	json_write_close(b, "]");
}

const char *tree_status(struct json_view info)
{
	static const struct {
		const char *hutch, *docker;
	} words[] = {
		{ "building", "created" }, { "starting", "created" },
		{ "started", "created" },  { "ready", "running" },
		{ "paused", "paused" },	   { "stopping", "running" },
		{ "ended", "exited" },
	};
	struct json_view state = json_view_get(info, "state");

	if (json_view_is(state, "ready") &&
	    json_view_is(json_view_get(info, "main.state"), "restarting"))
		return "restarting";
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (json_view_is(state, words[i].hutch))
			return words[i].docker;
	return "dead";
}

int tree_port(struct json_view row, char **ret_ip, char **ret_port)
{
	AUTO_FREE char *host = text_of(row, "host");
	char *colon = strrchr(host, ':');

	*ret_ip = NULL;
	if (host[0] == '/' || !colon) {
		*ret_port = text_copy(host);
		return (int)number_of(row, "guest");
	}
	*colon = '\0';
	*ret_ip = text_copy(host);
	*ret_port = text_copy(colon + 1);
	return (int)number_of(row, "guest");
}

char *tree_ports(struct json_view info)
{
	struct json_view_place place = { 0 };
	struct list ports = { 0 };

	while (json_view_step(json_view_get(info, "ports"), &place)) {
		AUTO_FREE char *ip = NULL, *port = NULL;
		int guest = tree_port(place.value, &ip, &port);
		list_addf(&ports, "%s%s%s->%d/tcp", ip ? ip : "", ip ? ":" : "", port,
			  guest);
	}
	char *text = list_join(&ports, 0, ", ");
	list_done(&ports);
	return text;
}

char *tree_labels_line(struct json_view info)
{
	struct json_view_place place = { 0 };
	struct list labels = { 0 };

	while (json_view_step(json_view_get(info, "labels"), &place)) {
		AUTO_FREE char *key = json_view_string(place.key);
		AUTO_FREE char *value = json_view_string(place.value);
		if (key && value)
			list_addf(&labels, "%s=%s", key, value);
	}
	char *text = list_join(&labels, 0, ",");
	list_done(&labels);
	return text;
}

static bool has_key(struct json_view object, struct json_view key)
{
	struct json_view_place place = { 0 };
	AUTO_FREE char *wanted = json_view_string(key);
	bool has = false;

	while (wanted && !has && json_view_step(object, &place))
		has = json_view_is(place.key, wanted);
	return has;
}

/* Writes the members of `labels` whose key is not in `above`. */
static void put_members(struct buffer *b, struct json_view labels, struct json_view above)
{
	struct json_view_place place = { 0 };

	while (json_view_step(labels, &place)) {
		if (json_view_type(place.value) != JSON_STRING ||
		    has_key(above, place.key))
			continue;
		AUTO_FREE char *member = text_format("%.*s:%.*s", (int)place.key.len,
						     place.key.text, (int)place.value.len,
						     place.value.text);
		json_write_raw(b, NULL, member);
	}
}

void tree_put_labels(struct buffer *b, const char *key, struct json_view below,
		     struct json_view labels)
{
	json_write_open(b, key, "{");
	put_members(b, below, labels);
	put_members(b, labels, (struct json_view){ 0 });
	json_write_close(b, "}");
}

/* Writes the ports of the host that lead to one port inside, for the first row of that
 * port alone. */
static void put_port(struct buffer *b, struct json_view ports, int guest)
{
	struct json_view_place place = { 0 };
	AUTO_FREE char *key = text_format("%d/tcp", guest);

	json_write_open(b, key, "[");
	while (json_view_step(ports, &place)) {
		AUTO_FREE char *ip = NULL, *port = NULL;
		if (tree_port(place.value, &ip, &port) != guest)
			continue;
		json_write_open(b, NULL, "{");
		json_write_text(b, "HostIp", ip ? ip : "");
		json_write_text(b, "HostPort", port);
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

static void put_ports(struct buffer *b, const char *key, struct json_view ports)
{
	struct json_view_place place = { 0 };
	struct list done = { 0 };

	json_write_open(b, key, "{");
	while (json_view_step(ports, &place)) {
		const int64_t guest = number_of(place.value, "guest");
		AUTO_FREE char *number = text_format("%lld", (long long)guest);
		if (!list_has(&done, number))
			put_port(b, ports, (int)guest);
		list_add_once(&done, number);
	}
	json_write_close(b, "}");
	list_done(&done);
}

int tree_exit_code(struct json_view info)
{
	const bool is_again = !strcmp(tree_status(info), "restarting");

	return (int)number_of(info, is_again ? "main.exit_code" : "exit.exit_code");
}

static void put_state(struct buffer *b, struct json_view info)
{
	const char *status = tree_status(info);
	const bool is_paused = !strcmp(status, "paused"),
		   is_again = !strcmp(status, "restarting"),
		   is_ended = !strcmp(status, "exited");
	AUTO_FREE char *created = text_of(info, "created");
	AUTO_FREE char *ended = text_of(info, "exit.ended");
	AUTO_FREE char *message = text_of(info, "exit.message");

	json_write_open(b, "State", "{");
	json_write_text(b, "Status", status);
	json_write_bool(b, "Running",
			is_paused || is_again || !strcmp(status, "running"));
	json_write_bool(b, "Paused", is_paused);
	json_write_bool(b, "Restarting", is_again);
	json_write_bool(b, "OOMKilled",
			json_view_is(json_view_get(info, "exit.reason"), "oom"));
	json_write_bool(b, "Dead", !strcmp(status, "dead"));
	json_write_number(b, "Pid", is_ended || is_again ? 0 : number_of(info, "pid"));
	json_write_number(b, "ExitCode", tree_exit_code(info));
	json_write_text(b, "Error", message);
	json_write_text(b, "StartedAt", created);
	json_write_text(b, "FinishedAt", *ended ? ended : NEVER);
	json_write_close(b, "}");
}

/* Writes the main process as docker's Path and Args. */
static void put_command(struct buffer *b, struct json_view argv)
{
	struct json_view_place place = { 0 };
	bool is_first = true;

	while (json_view_step(argv, &place)) {
		AUTO_FREE char *word = json_view_string(place.value);
		json_write_text(b, is_first ? "Path" : NULL, word ? word : "");
		if (is_first)
			json_write_open(b, "Args", "[");
		is_first = false;
	}
	if (is_first) {
		json_write_text(b, "Path", "");
		json_write_open(b, "Args", "[");
	}
	json_write_close(b, "]");
}

char *tree_command(struct json_view info)
{
	struct json_view_place place = { 0 };
	struct list words = { 0 };

	while (json_view_step(json_view_get(info, "main.argv"), &place)) {
		AUTO_FREE char *word = json_view_string(place.value);
		list_add(&words, word ? word : "");
	}
	char *text = list_join(&words, 0, " ");
	list_done(&words);
	return text;
}

static void put_config(struct buffer *b, struct json_view info,
		       struct json_view image_labels)
{
	AUTO_FREE char *image = text_of(info, "image");
	AUTO_FREE char *user = text_of(info, "user");

	json_write_open(b, "Config", "{");
	json_write_text(b, "User", user);
	json_write_bool(b, "Tty", false); /* nor has a main process a stdin */
	json_write_bool(b, "OpenStdin", false);
	put_words(b, "Env", json_view_get(info, "env"));
	/* hutch keeps the image's ENTRYPOINT and the words behind it as one command. */
	put_words(b, "Cmd", json_view_get(info, "main.argv"));
	json_write_raw(b, "Entrypoint", "null");
	json_write_text(b, "Image", image);
	tree_put_labels(b, "Labels", image_labels, json_view_get(info, "labels"));
	json_write_close(b, "}");
}

/* Writes the rule of --restart, "on-failure:3" in hutch, as docker's two members. */
static void put_restart(struct buffer *b, struct json_view info)
{
	AUTO_FREE char *rule = text_of(info, "main.restart");
	char *most = strchr(rule, ':');

	if (most)
		*most++ = '\0';
	json_write_open(b, "RestartPolicy", "{");
	json_write_text(b, "Name", *rule ? rule : "no");
	json_write_number(b, "MaximumRetryCount", most ? strtol(most, NULL, 10) : 0);
	json_write_close(b, "}");
}

static void put_host_config(struct buffer *b, struct json_view info)
{
	AUTO_FREE char *network = text_of(info, "network.mode");
	double cpus = 0;

	(void)json_view_number(json_view_get(info, "limits.cpus"), &cpus);
	json_write_open(b, "HostConfig", "{");
	json_write_text(b, "NetworkMode", network);
	put_ports(b, "PortBindings", json_view_get(info, "ports"));
	put_restart(b, info);
	json_write_bool(b, "Privileged", false);
	json_write_number(b, "Memory", number_of(info, "limits.memory"));
	json_write_number(b, "NanoCpus", (int64_t)(cpus * 1e9));
	put_raw(b, "PidsLimit", json_view_get(info, "limits.pids"), "null");
	json_write_raw(b, "SecurityOpt", "[\"no-new-privileges\"]");
	json_write_close(b, "}");
}

static void put_network(struct buffer *b, struct json_view info)
{
	json_write_open(b, "NetworkSettings", "{");
	put_ports(b, "Ports", json_view_get(info, "ports"));
	json_write_text(b, "IPAddress", "");
	json_write_raw(b, "Networks", "{}");
	json_write_close(b, "}");
}

static void put_mounts(struct buffer *b, struct json_view mounts)
{
	struct json_view_place place = { 0 };

	json_write_open(b, "Mounts", "[");
	while (json_view_step(mounts, &place)) {
		AUTO_FREE char *source = text_of(place.value, "source");
		AUTO_FREE char *target = text_of(place.value, "target");
		AUTO_FREE char *mode = text_of(place.value, "mode");
		json_write_open(b, NULL, "{");
		json_write_text(b, "Type", strcmp(mode, "tmpfs") ? "bind" : "tmpfs");
		json_write_text(b, "Source", source);
		json_write_text(b, "Destination", target);
		json_write_text(b, "Mode", mode);
		json_write_bool(b, "RW", strcmp(mode, "ro") != 0);
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

char *tree_container(struct json_view info, struct json_view image_labels)
{
	AUTO_FREE char *id = text_of(info, "id");
	AUTO_FREE char *name = text_of(info, "name");
	AUTO_FREE char *path = text_format("/%s", name);
	AUTO_FREE char *created = text_of(info, "created");
	AUTO_FREE char *image = text_of(info, "image");
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "Id", id);
	json_write_text(&b, "Created", created);
	put_command(&b, json_view_get(info, "main.argv"));
	put_state(&b, info);
	json_write_text(&b, "Image", image);
	json_write_text(&b, "Name", path);
	json_write_text(&b, "Platform", "linux");
	json_write_number(&b, "RestartCount", number_of(info, "main.restarts"));
	put_host_config(&b, info);
	put_mounts(&b, json_view_get(info, "mounts"));
	put_config(&b, info, image_labels);
	put_network(&b, info);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static void put_image_config(struct buffer *b, struct json_view info)
{
	AUTO_FREE char *user = text_of(info, "user");
	AUTO_FREE char *workdir = text_of(info, "working_dir");

	json_write_open(b, "Config", "{");
	json_write_text(b, "User", user);
	put_raw(b, "Env", json_view_get(info, "env"), "[]");
	put_raw(b, "Cmd", json_view_get(info, "cmd"), "null");
	json_write_text(b, "WorkingDir", workdir);
	put_raw(b, "Entrypoint", json_view_get(info, "entrypoint"), "null");
	put_raw(b, "Labels", json_view_get(info, "configuration.config.Labels"), "null");
	json_write_close(b, "}");
}

char *tree_image(struct json_view info)
{
	AUTO_FREE char *id = text_of(info, "id");
	AUTO_FREE char *digest = text_of(info, "digest");
	AUTO_FREE char *arch = text_of(info, "architecture");
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "Id", id);
	put_raw(&b, "RepoTags", json_view_get(info, "names"), "[]");
	json_write_open(&b, "RepoDigests", "[");
	json_write_text(&b, NULL, digest);
	json_write_close(&b, "]");
	json_write_text(&b, "Architecture", arch);
	json_write_text(&b, "Os", "linux");
	json_write_number(&b, "Size", number_of(info, "size"));
	put_image_config(&b, info);
	json_write_close(&b, "}");
	return json_write_end(&b);
}
