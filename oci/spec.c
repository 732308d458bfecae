#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/verbs.h"

/* The parts of the template differ between root's containers and those of an ordinary
 * user, which map this user's id to root inside. */
static const char head[] =
	"{\n"
	"\t\"ociVersion\": \"1.3.0\",\n"
	"\t\"process\": {\n"
	"\t\t\"terminal\": true,\n"
	"\t\t\"user\": { \"uid\": 0, \"gid\": 0 },\n"
	"\t\t\"args\": [ \"sh\" ],\n"
	"\t\t\"env\": [\n"
	"\t\t\t\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\n"
	"\t\t\t\"TERM=xterm\"\n"
	"\t\t],\n"
	"\t\t\"cwd\": \"/\",\n"
	"\t\t\"capabilities\": {\n"
	"\t\t\t\"bounding\": [ \"CAP_AUDIT_WRITE\", \"CAP_KILL\", \"CAP_NET_BIND_SERVICE\" ],\n"
	"\t\t\t\"effective\": [ \"CAP_AUDIT_WRITE\", \"CAP_KILL\", \"CAP_NET_BIND_SERVICE\" ],\n"
	"\t\t\t\"permitted\": [ \"CAP_AUDIT_WRITE\", \"CAP_KILL\", \"CAP_NET_BIND_SERVICE\" ]\n"
	"\t\t},\n"
	"\t\t\"rlimits\": [ { \"type\": \"RLIMIT_NOFILE\", \"hard\": 1024, \"soft\": 1024 } ],\n"
	"\t\t\"noNewPrivileges\": true\n"
	"\t},\n"
	"\t\"root\": { \"path\": \"rootfs\", \"readonly\": true },\n"
	"\t\"hostname\": \"hutch\",\n"
	"\t\"mounts\": [\n"
	"\t\t{ \"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\" },\n"
	"\t\t{ \"destination\": \"/dev\", \"type\": \"tmpfs\", \"source\": \"tmpfs\",\n"
	"\t\t  \"options\": [ \"nosuid\", \"strictatime\", \"mode=755\", \"size=65536k\" ] },\n"
	"\t\t{ \"destination\": \"/dev/pts\", \"type\": \"devpts\", \"source\": \"devpts\",\n"
	"\t\t  \"options\": [ \"nosuid\", \"noexec\", \"newinstance\", \"ptmxmode=0666\", "
	"\"mode=0620\"%s ] },\n"
	"\t\t{ \"destination\": \"/dev/shm\", \"type\": \"tmpfs\", \"source\": \"shm\",\n"
	"\t\t  \"options\": [ \"nosuid\", \"noexec\", \"nodev\", \"mode=1777\", "
	"\"size=65536k\" ] },\n"
	"\t\t{ \"destination\": \"/dev/mqueue\", \"type\": \"mqueue\", \"source\": \"mqueue\",\n"
	"\t\t  \"options\": [ \"nosuid\", \"noexec\", \"nodev\" ] },\n"
	"\t\t{ \"destination\": \"/sys\", \"type\": \"sysfs\", \"source\": \"sysfs\",\n"
	"\t\t  \"options\": [ \"nosuid\", \"noexec\", \"nodev\", \"ro\" ] }\n"
	"\t],\n"
	"\t\"linux\": {\n";

static const char tail[] =
	"\t\t\"namespaces\": [\n"
	"\t\t\t{ \"type\": \"pid\" }, { \"type\": \"network\" }, { \"type\": \"ipc\" },\n"
	"\t\t\t{ \"type\": \"uts\" }, { \"type\": \"cgroup\" }, { \"type\": \"mount\" }%s\n"
	"\t\t],\n"
	"\t\t\"maskedPaths\": [ \"/proc/acpi\", \"/proc/asound\", \"/proc/kcore\", "
	"\"/proc/keys\",\n"
	"\t\t\t\"/proc/latency_stats\", \"/proc/timer_list\", \"/proc/timer_stats\",\n"
	"\t\t\t\"/proc/sched_debug\", \"/proc/scsi\", \"/sys/firmware\" ],\n"
	"\t\t\"readonlyPaths\": [ \"/proc/bus\", \"/proc/fs\", \"/proc/irq\", \"/proc/sys\",\n"
	"\t\t\t\"/proc/sysrq-trigger\" ]\n"
	"\t}\n"
	"}\n";

static char *write_spec(bool is_rootless)
{
	AUTO_FREE char *maps =
		is_rootless
			? text_format("\t\t\"uidMappings\": [ { \"containerID\": 0, "
				      "\"hostID\": %u, \"size\": 1 } ],\n"
				      "\t\t\"gidMappings\": [ { \"containerID\": 0, "
				      "\"hostID\": %u, \"size\": 1 } ],\n",
				      geteuid(), getegid())
			: text_format(
				  "\t\t\"resources\": { \"devices\": [ { \"allow\": false, "
				  "\"access\": \"rwm\" } ] },\n");
	AUTO_FREE char *first = text_format(head, is_rootless ? "" : ", \"gid=5\"");
	AUTO_FREE char *last =
		text_format(tail, is_rootless ? ", { \"type\": \"user\" }" : "");

	return text_format("%s%s%s", first, maps, last);
}

int spec_verb(const struct globals *g, char **argv, struct err *e)
{
	const char *bundle = ".";
	bool is_rootless = geteuid() != 0;
	const struct args_flag flags[] = {
		{ "bundle", 'b', ARGS_TEXT, &bundle, "DIR", "write to this folder" },
		{ "rootless", 0, ARGS_SWITCH, &is_rootless, NULL,
		  "for a user who is not root" },
	};
	const struct args a = { "spec [OPTIONS]", flags, ARRAY_LEN(flags), false };

	(void)g;
	if (args_read(&a, argv, e) || args_count(&a, argv, 0, 0, e))
		return -1;
	AUTO_FREE char *path = text_format("%s/config.json", bundle);
	AUTO_FREE char *text = write_spec(is_rootless);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_EXISTS, "%s exists: remove it first", path);
	return fd < 0 || io_write_all(fd, text, strlen(text))
		       ? err_sys(e, "write %s", path)
		       : 0;
}
