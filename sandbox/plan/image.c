#include "sandbox/plan/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rule.h"
#include "policy/egress/sandbox_name.h"
#include "policy/extra_host.h"
#include "policy/policy.h"
#include "sandbox/plan/added_user.h"
#include "sandbox/plan/etc_names.h"
#include "sandbox/plan/limits.h"
#include "sandbox/plan/overlay_lowers.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/store_image.h"
#include "sandbox/plan/volumes.h"

/* All private writable folders together get a quarter of the machine's memory.  The
 * number of inodes is bounded too, since they take kernel memory that `size` does not
 * count. */
#define SCRATCH_SIZE "size=25%,nr_inodes=1m"
#define NO_DEVICES   (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define RESOLV_MAX   (64u << 10)

/* Entries of the host's /etc that the programs in /usr need to work.  None of them tells
 * about the host's users or its network, and none has a place for a password or for the
 * name of another host; so npmrc, pip.conf, gitconfig, Maven's settings.xml, R's
 * Renviron.site and ImageMagick's policy.xml are left out.  If a folder also has files
 * of that kind, its other files are listed one by one. */
static const char *const etc_entries[] = {
	"/etc/alternatives",
	"/etc/ca-certificates",
	"/etc/chromium.d",
	"/etc/crypto-policies",
	"/etc/debian_version",
	"/etc/dictionaries-common",
	"/etc/dpkg/origins",
	"/etc/drirc",
	"/etc/fonts",
	"/etc/ghostscript",
	"/etc/glvnd",
	"/etc/groff",
	"/etc/gtk-2.0",
	"/etc/gtk-3.0",
	"/etc/gtk-4.0",
	"/etc/ImageMagick-6/delegates.xml",
	"/etc/ImageMagick-6/type.xml",
	"/etc/ImageMagick-6/type-ghostscript.xml",
	"/etc/ImageMagick-7/delegates.xml",
	"/etc/ImageMagick-7/type.xml",
	"/etc/ImageMagick-7/type-ghostscript.xml",
	"/etc/java",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/locale.alias",
	"/etc/localtime",
	"/etc/lsb-release",
	"/etc/mailcap",
	"/etc/manpath.config",
	"/etc/matplotlibrc",
	"/etc/maven/logging",
	"/etc/maven/m2.conf",
	"/etc/mime.types",
	"/etc/octave.conf",
	"/etc/OpenCL",
	"/etc/os-release",
	"/etc/papersize",
	"/etc/paperspecs",
	"/etc/perl",
	"/etc/pki",
	"/etc/protocols",
	"/etc/python3",
	"/etc/R/ldpaths",
	"/etc/R/Makeconf",
	"/etc/R/Renviron",
	"/etc/redhat-release",
	"/etc/services",
	"/etc/sgml",
	"/etc/ssl",
	"/etc/terminfo",
	"/etc/texmf",
	"/etc/timezone",
	"/etc/vim",
	"/etc/vulkan",
	"/etc/X11/app-defaults",
	"/etc/X11/rgb.txt",
	"/etc/xml",
};

/* Beginnings of names in the host's /etc that end in a version or an architecture.  All
 * entries of /etc that begin with one of these are shown. */
static const char *const etc_prefixes[] = { "java-", "ld-musl-", "python2.", "python3." };

/* Entries of procfs that are masked: those that tell about the host and that any user
 * may read, and /proc/pressure, to which any user may write triggers (seen on 6.18).
 * Closing a trigger takes some 10 ms, so a process with hundreds of them takes seconds
 * to end, even by SIGKILL.  Files that only root may open (kcore, kmsg, timer_list,
 * sysrq-trigger, ...) need no mask: they belong to host id 0, which is never mapped, so
 * that no capability of a process inside applies to them
 * (capable_wrt_inode_uidgid()). */
static const char *const masked_proc[] = {
	"/proc/acpi",	    "/proc/asound",	   "/proc/bus",	     "/proc/fs",
	"/proc/interrupts", "/proc/irq",	   "/proc/kallsyms", "/proc/key-users",
	"/proc/keys",	    "/proc/latency_stats", "/proc/pressure", "/proc/sched_debug",
	"/proc/scsi",
};

static void add_symlink(struct plan *p, const char *target, const char *to)
{
	plan_add(p, STEP_SYMLINK, target)->data = text_copy(to);
}

static void add_dir(struct plan *p, const char *target, mode_t mode)
{
	plan_add(p, STEP_DIR, target)->mode = mode;
}

static struct step *add_file(struct plan *p, const char *target, char *content)
{
	struct step *s = plan_add(p, STEP_FILE, target);

	s->data = content;
	s->mode = 0644;
	return s;
}

/* Shows a path of the host, read-only, at `target`.  A link is shown as a link.  A path
 * that does not exist, or cannot be looked at, is skipped.  `now` is a time before the
 * look, in ns (step.changed_ns). */
static void add_host_path(struct plan *p, const char *source, const char *target,
			  int64_t now)
{
	char link[4096];
	struct stat st;

	if (lstat(source, &st) < 0)
		return;
	if (S_ISLNK(st.st_mode)) {
		ssize_t len = readlink(source, link, sizeof(link) - 1);
		if (len <= 0)
			return;
		link[len] = '\0';
		add_symlink(p, target, link);
		return;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return;
	struct step *s = plan_add(p, STEP_BIND, target);
	s->source = text_copy(source);
	s->attr = MOUNT_ATTR_RDONLY | NO_DEVICES; /* layer: image-readonly */
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->size = st.st_size;
	s->changed_ns = clock_ns(&st.st_ctim);
	s->is_public = (st.st_mode & S_IROTH) && s->changed_ns < now - ETC_NAMES_STILL_NS;
	s->is_dir = S_ISDIR(st.st_mode);
}

static int list_etc(int64_t now, struct list *ret, struct err *e)
{
	static const struct etc_wanted wanted = {
		.folder = "/etc",
		.paths = etc_entries,
		.path_count = ARRAY_LEN(etc_entries),
		.prefixes = etc_prefixes,
		.prefix_count = ARRAY_LEN(etc_prefixes),
	};
	struct list names = { 0 };
	const int found = etc_names_list(&wanted, now, &names, e);

	for (size_t i = 0; found == 0 && i < names.count; i++)
		list_add(ret, names.items[i]);
	list_done(&names);
	return found;
}

int image_list_host(int64_t now, struct list *ret, struct err *e)
{
	static const char *const roots[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32",
					     "/lib64", "/libx32", "/nix/store" };

	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		list_add(ret, roots[i]);
	return list_etc(now, ret, e);
}

static int add_host_paths(struct plan *p, struct err *e)
{
	struct list paths = { 0 };
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* never fails for this clock */
	const int listed = image_list_host(clock_ns(&now), &paths, e);
	for (size_t i = 0; listed == 0 && i < paths.count; i++)
		add_host_path(p, paths.items[i], paths.items[i], clock_ns(&now));
	list_done(&paths);
	return listed;
}

/* Sandboxes of networks are found by their first label, too: each network is a suffix. */
static char *resolv_conf_of_rules(const struct policy *policy)
{
	struct list suffixes = { 0 };

	for (size_t i = 0; i < policy->joins.count; i++)
		list_addf(&suffixes, " %s." SANDBOX_NAME_ZONE, policy->joins.items[i]);
	AUTO_FREE char *search = list_join(&suffixes, 0, "");
	list_done(&suffixes);
	return text_format("nameserver " EGRESS_RESOLVER "\n%s%s%s",
			   *search ? "search" : "", search, *search ? "\n" : "");
}

/* Opens the file with the resolvers of a shared network.  A namespace of ip-netns(8) may
 * have a file of its own: /etc/netns/NAME/resolv.conf. */
static int open_resolvers(const struct policy *policy)
{
	static const char named[] = "ns:/run/netns/";
	const char *network = policy_network_word(policy);
	const char *name = network + sizeof(named) - 1;

	if (!strncmp(network, named, sizeof(named) - 1) && !strchr(name, '/')) {
		AUTO_FREE char *own = text_format("/etc/netns/%s/resolv.conf", name);
		int fd = open(own, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
}

/* Makes the content of /etc/resolv.conf.  With a shared network the file names that
 * network's resolvers, which are the host's where it has no others.  With rules for the
 * network it names hutch-gate (egress/gate/gateway.h).  Without a network it names none;
 * glibc then tries 127.0.0.1, where nothing listens, and fails at once. */
static char *resolv_conf(const struct policy *policy)
{
	char *text;
	size_t len;

	AUTO_CLOSE int fd = policy_shares_network(policy) ? open_resolvers(policy) : -1;
	if (fd >= 0 && io_read_file(fd, "/etc/resolv.conf", RESOLV_MAX, &text, &len,
				    NULL) == 0)
		return text;
	return policy->network == NETWORK_ALLOW
		       ? resolv_conf_of_rules(policy)
		       : text_copy("# this sandbox has no network\n");
}

static char *hosts_file(const struct plan *p, const struct policy *policy)
{
	struct list lines = { 0 };

	list_addf(&lines, "127.0.0.1\tlocalhost %s\n", p->hostname);
	list_addf(&lines, "::1\tlocalhost ip6-localhost ip6-loopback %s\n", p->hostname);
	for (size_t i = 0; i < policy->add_hosts.count; i++) {
		char address[ADDRESS_TEXT_MAX];
		struct extra_host host;
		if (extra_host_parse(policy->add_hosts.items[i], &host, NULL) < 0 ||
		    host.is_gateway) /* hutch-gate answers for that name */
			continue;
		(void)address_print(&host.address, address);
		list_addf(&lines, "%s\t%s\n", address, host.name.text);
	}
	char *text = list_join(&lines, 0, "");
	list_done(&lines);
	return text;
}

static bool is_one_of(uint32_t id, const uint32_t *ids, size_t count)
{
	bool is = false;

	for (size_t i = 0; i < count && !is; i++)
		is = ids[i] == id;
	return is;
}

/* Returns a line of passwd for a user of -u that has none, since ssh, git and others
 * refuse to work for a user without a name; HOME is as in policy/environment.c. */
static char *line_of_user(const struct plan *p, const char *shell)
{
	static const uint32_t known[] = { 0, 1000, 65534 };

	if (p->dir_user.is_added)
		return added_user_passwd(&p->dir_user, shell);
	return is_one_of(p->uid, known, ARRAY_LEN(known))
		       ? text_copy("")
		       : text_format("%u:x:%u:%u::/tmp:%s\n", p->uid, p->uid, p->gid,
				     shell);
}

static char *line_of_group(const struct plan *p)
{
	static const uint32_t known[] = { 0, 5, 1000, 65534 };

	if (p->dir_user.is_added)
		return added_user_group(&p->dir_user);
	return is_one_of(p->gid, known, ARRAY_LEN(known))
		       ? text_copy("")
		       : text_format("%u:x:%u:\n", p->gid, p->gid);
}

static void add_synthesized_etc(struct plan *p, const struct policy *policy)
{
	AUTO_FREE char *shell = image_shell(p, policy);

	AUTO_FREE char *user = line_of_user(p, shell), *group = line_of_group(p);

	/* The first line of an id decides its name: that of an added user comes first. */
	const char *first = p->dir_user.is_added ? user : "";
	const char *last = p->dir_user.is_added ? "" : user;
	const char *first_group = p->dir_user.is_added ? group : "";
	const char *last_group = p->dir_user.is_added ? "" : group;

	add_file(p, "/etc/passwd",
		 text_format(
			 "%sroot:x:0:0:root:/root:%s\n"
			 "agent:x:1000:1000:agent:/home/agent:%s\n"
			 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n%s",
			 first, shell, shell, last));
	add_file(p, "/etc/group",
		 text_format("%sroot:x:0:\nagent:x:1000:\ntty:x:5:\nnogroup:x:65534:\n%s",
			     first_group, last_group));
	add_file(p, "/etc/nsswitch.conf",
		 text_copy("passwd: files\ngroup: files\nhosts: files dns\n"
			   "protocols: files\nservices: files\n"));
	/* A sandbox with a name has that name as its host name, unlike any other. */
	const bool is_own = strcmp(p->hostname, PLAN_HOSTNAME) != 0;
	add_file(p, "/etc/hostname", text_format("%s\n", p->hostname))->is_own = is_own;
	add_file(p, "/etc/hosts", hosts_file(p, policy))->is_own = is_own;
	add_file(p, "/etc/resolv.conf", resolv_conf(policy));
}

/* Shows a device of the host.  A read-only mount does not stop writes to the device, but
 * stops chmod(2) and the like on the host's device node. */
static int add_device(struct plan *p, const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, "look at %s of the host", path);
	struct step *s = plan_add(p, STEP_BIND, path);
	s->source = text_copy(path);
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

static int add_dev(struct plan *p, struct err *e)
{
	static const char *const devices[] = {
		"/dev/null",   "/dev/zero",    "/dev/full",
		"/dev/random", "/dev/urandom", "/dev/tty"
	};
	static const char *const links[][2] = { { "/dev/fd", "/proc/self/fd" },
						{ "/dev/stdin", "/proc/self/fd/0" },
						{ "/dev/stdout", "/proc/self/fd/1" },
						{ "/dev/stderr", "/proc/self/fd/2" },
						{ "/dev/ptmx", "pts/ptmx" } };

	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (add_device(p, devices[i], e) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		add_symlink(p, links[i][0], links[i][1]);
	add_dir(p, "/dev/pts", 0755);
	plan_add(p, STEP_DEVPTS, "/dev/pts");
	return 0;
}

static void add_proc(struct plan *p)
{
	add_dir(p, "/proc", 0555);
	plan_add(p, STEP_PROC, "/proc");
	for (size_t i = 0; i < ARRAY_LEN(masked_proc); i++) {
		plan_add(p, STEP_MASK, masked_proc[i]); /* layer: proc-masks */
	}
	plan_add(p, STEP_READONLY, "/proc/sys");
}

/* Adds the private writable folders.  If the root is to be read-only, these are plain,
 * read-only folders of the root, and only /dev/shm stays writable, as docker has it. */
static void add_scratch(struct plan *p, bool is_read_only)
{
	const char *home = p->dir_user.is_added ? p->dir_user.home
			   : p->uid == 0	? "/root"
						: "/home/agent";
	const struct {
		const char *path;
		mode_t mode;
	} folders[] = { { "/tmp", 01777 },
			{ "/run", 0755 },
			{ home, 0755 },
			{ "/workspace", 0755 } };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		plan_add(p, is_read_only ? STEP_DIR : STEP_SCRATCH, folders[i].path)
			->mode = folders[i].mode;
	plan_add(p, STEP_SCRATCH, "/dev/shm")->mode = 01777;
}

static int plan_host(struct plan *p, const struct policy *policy, struct err *e)
{
	/* With --idmap ranges there is a root user inside, and "/" belongs to root, as
	 * on every system. */
	plan_add(p, STEP_ROOT, "/")->data =
		text_copy(p->has_ranges ? SCRATCH_SIZE ",uid=0,gid=0" : SCRATCH_SIZE);
	if (add_host_paths(p, e) < 0)
		return -1;
	add_synthesized_etc(p, policy);
	if (add_dev(p, e) < 0)
		return -1;
	add_proc(p);
	add_scratch(p, policy->is_read_only);
	add_symlink(p, "/var/tmp", "/tmp");
	add_symlink(p, "/var/run", "/run");
	add_symlink(p, "/var/lock", "/run/lock");
	return 0;
}

static bool is_folder_or_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

/* Shows each entry of a host directory with a mount of its own, below a root directory
 * that belongs to the sandbox: so further mount points can be made beside these
 * entries. */
static int add_entries(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e)
{
	static const char *const ours[] = { "proc", "sys", "dev",     "tmp",
					    "run",  ".",   "..", "workspace" };
	struct list writable = { 0 };
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return err_sys(e, "list %s", path);
	while ((entry = readdir(dir))) {
		bool is_ours = false;
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			is_ours = is_ours || !strcmp(entry->d_name, ours[i]);
		if (is_ours)
			continue;
		AUTO_FREE char *source = text_format("%s/%s", path, entry->d_name);
		AUTO_FREE char *target = text_format("/%s", entry->d_name);
		if (policy->is_image_writable && is_folder_or_file(source))
			list_add(&writable, target);
		else
			add_host_path(p, source, target, 0);
	}
	(void)closedir(dir); /* errors do not matter: the directory was only read */
	int result = volumes_show_entries(p, policy, path, &writable, e);
	list_done(&writable);
	return result;
}

/* Plans a root whose entries are mounts of the folder's: read-only ones, or with
 * dir:PATH:rw writable ones.  The root itself is hutch's, so that the mount points of
 * /proc and the like are not made in the folder. */
static int plan_dir_entries(struct plan *p, const struct policy *policy, const char *path,
			    struct err *e)
{
	const bool is_read_only = policy->is_read_only;

	plan_add(p, STEP_ROOT, "/")->data = text_copy(SCRATCH_SIZE);
	if (add_entries(p, policy, path, e) < 0)
		return -1;
	if (add_dev(p, e) < 0)
		return -1;
	add_proc(p);
	plan_add(p, is_read_only ? STEP_DIR : STEP_SCRATCH, "/tmp")->mode = 01777;
	plan_add(p, is_read_only ? STEP_DIR : STEP_SCRATCH, "/run")->mode = 0755;
	plan_add(p, is_read_only ? STEP_DIR : STEP_SCRATCH, "/workspace")->mode = 0755;
	plan_add(p, STEP_SCRATCH, "/dev/shm")->mode = 01777;
	return 0;
}

/* Adds the files in /etc that hutch itself writes for the sandbox, whether or not the
 * image has them too. */
static void add_own_files(struct plan *p, const struct policy *policy)
{
	add_file(p, "/etc/hostname", text_format("%s\n", p->hostname));
	add_file(p, "/etc/hosts", hosts_file(p, policy));
	add_file(p, "/etc/resolv.conf", resolv_conf(policy));
}

/* Indexes of the paths that are looked up in the image, since the plan depends on
 * whether they exist. */
enum { PROC, DEV, TMP, RUN, WORKSPACE, SYS, ETC, MTAB, APT, APT_CONF, LOOKED_FOR };

static void look_at_image(const struct list *lowers,
			  struct overlay_lowers_entry ret[LOOKED_FOR])
{
	static const char *const paths[] = {
		[PROC] = "proc",   [DEV] = "dev",
		[TMP] = "tmp",	   [RUN] = "run",
		[SYS] = "sys",	   [WORKSPACE] = "workspace",
		[ETC] = "etc",	   [MTAB] = "etc/mtab",
		[APT] = "etc/apt", [APT_CONF] = "etc/apt/apt.conf.d",
	};

	for (size_t i = 0; i < LOOKED_FOR; i++)
		ret[i] = (struct overlay_lowers_entry){ .path = paths[i] };
	overlay_lowers_look(lowers, ret, LOOKED_FOR);
}

/* Adds a folder to the sandbox's own layer over the image.  If the image has an entry at
 * that path that is no folder, such as a link, nothing is added: later mounts and files
 * follow the image's entry, or fail. */
static bool add_own_folder(struct plan *p, const struct overlay_lowers_entry *entry)
{
	AUTO_FREE char *path = text_format("/%s", entry->path);
	bool is_missing = entry->error == ENOENT;

	if (!is_missing && (entry->error || !S_ISDIR(entry->st.st_mode)))
		return false;
	/* the added folder hides the image's folder, so it gets the same mode */
	add_dir(p, path, is_missing ? 0755 : entry->st.st_mode & 07777);
	return true;
}

/* Adds an apt setting.  Without it, apt switches to another user, which does not exist
 * if a single id is mapped. */
static void add_apt(struct plan *p, const struct overlay_lowers_entry *found)
{
	if (p->pretends && !found[APT].error && add_own_folder(p, &found[APT]) &&
	    add_own_folder(p, &found[APT_CONF]))
		add_file(p, "/etc/apt/apt.conf.d/zz-hutch",
			 text_copy("APT::Sandbox::User \"root\";\n"));
}

static void give_last(struct plan *p)
{
	p->steps[p->count - 1].uid = p->uid;
	p->steps[p->count - 1].gid = p->gid;
}

/* Adds the sandbox's own layer over the image: mount points that the image lacks, and
 * hutch's files.  Returns true if the layer holds the files in /etc. */
static bool add_own_layer(struct plan *p, const struct policy *policy,
			  const struct list *lowers)
{
	static const mode_t modes[] = { [PROC] = 0555, [DEV] = 0755, [TMP] = 01777,
					[RUN] = 0755, [WORKSPACE] = 0755 };
	struct overlay_lowers_entry found[LOOKED_FOR];

	look_at_image(lowers, found);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		AUTO_FREE char *path = text_format("/%s", found[i].path);
		if (found[i].error == ENOENT)
			add_dir(p, path, modes[i]);
	}
	/* If the image lacks /workspace, it is made for the command's user, who is to
	 * work there; with --idmap ranges, the other folders belong to root. */
	if (found[WORKSPACE].error == ENOENT)
		give_last(p);
	if (p->has_logs && add_own_folder(p, &found[RUN])) {
		add_dir(p, "/run/hutch", 0755);
		add_dir(p, LIMITS_LOGS, 0755);
	}
	if (policy_wants_cgroup(policy) && add_own_folder(p, &found[SYS])) {
		add_dir(p, "/sys/fs", 0755);
		add_dir(p, LIMITS_CGROUP, 0755);
	}
	if (!add_own_folder(p, &found[ETC]))
		return false;
	add_own_files(p, policy);
	if (found[MTAB].error == ENOENT)
		add_symlink(p, "/etc/mtab", "/proc/mounts");
	add_apt(p, found);
	return true;
}

/* Adds the lines of a user that the image lacks, and the user's home, to the sandbox's own
 * layer. */
static int add_user(struct plan *p, const struct image_user *user, const char *shell,
		    const struct list *lowers, struct err *e)
{
	AUTO_FREE char *home = text_format("home/%s", user->name);
	struct overlay_lowers_entry found[] = { { .path = "home" }, { .path = home } };
	AUTO_FREE char *passwd = NULL, *group = NULL;

	if (added_user_files(user, shell, lowers, &passwd, &group, e) < 0)
		return -1;
	add_file(p, "/etc/passwd", passwd);
	add_file(p, "/etc/group", group);
	passwd = group = NULL; /* the plan's */
	overlay_lowers_look(lowers, found, ARRAY_LEN(found));
	if (found[1].error == ENOENT && add_own_folder(p, &found[0])) {
		add_dir(p, user->home, 0755);
		give_last(p);
	}
	return 0;
}

/* Plans an overlay as the root, with the image below and the files that are written
 * above it.  /dev is a tmpfs of its own: the image's /dev may contain anything, so an
 * overlay cannot reliably hold the mount points of devices. */
static int plan_overlay(struct plan *p, const struct policy *policy,
			const struct list *lowers, struct err *e)
{
	bool has_files = add_own_layer(p, policy, lowers);
	const struct image_user *user = p->store_image ? &p->store_image->user
						       : &p->dir_user;
	AUTO_FREE char *shell = image_shell(p, policy);

	if (user->is_added && !has_files)
		return err_set(
			e, ERR_UNSUPPORTED,
			"-u %.80s: the user cannot be added, since the image's /etc "
			"is no folder",
			policy->user);
	if (user->is_added && add_user(p, user, shell, lowers, e) < 0)
		return -1;
	plan_add(p, STEP_MERGE, "/");
	if (!has_files)
		add_own_files(p, policy);
	plan_add(p, STEP_TMPFS, "/dev")->data = text_copy("size=64k,mode=0755");
	if (add_dev(p, e) < 0)
		return -1;
	add_proc(p);
	add_dir(p, "/dev/shm", 01777);
	plan_add(p, STEP_TMPFS, "/dev/shm")->data = text_copy("size=25%,mode=1777");
	return 0;
}

static int plan_dir_overlay(struct plan *p, const struct policy *policy,
			    const char *path, const struct stat *st, struct err *e)
{
	struct step *root = plan_add(p, STEP_OVERLAY, "/");
	struct list lowers = { 0 };

	root->source = text_copy(path);
	root->data = text_copy(SCRATCH_SIZE);
	root->dev = st->st_dev;
	root->ino = st->st_ino;
	root->is_dir = true;
	root->is_roots = p->has_ranges;
	list_add(&lowers, path);
	int planned = plan_overlay(p, policy, &lowers, e);
	list_done(&lowers);
	return planned;
}

/* Refuses to write to a folder of another user, of which the files would have ids inside
 * that are not mapped. */
static int check_own(const char *path, const struct stat *st, struct err *e)
{
	if (st->st_uid == geteuid())
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "--image dir:%.200s:rw: the folder belongs to user %u, and the "
		      "sandbox stands for user %u",
		      path, st->st_uid, geteuid());
	return err_remedy(e,
			  "leave :rw out, which keeps writes apart from the folder; or "
			  "make a copy of it that is yours");
}

static int plan_dir(struct plan *p, const struct policy *policy, struct err *e)
{
	struct stat st;

	AUTO_FREE char *path = volumes_resolve(policy, policy->image_path, &st);
	if (!path)
		return err_sys(e, "open the image %.200s", policy->image_path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "the image %.200s is not a directory", path);
	/* With --idmap ranges a root inside that is mapped reads the image. */
	if (policy->idmap != IDMAP_RANGES &&
	    faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) < 0) {
		(void)err_sys(e, "read the image %.200s", path);
		return err_remedy(e,
				  "the user who starts hutch must be able to list that "
				  "folder and to enter it");
	}

	/* Files of an image that belongs to another user or group have ids that are not
	 * mapped, and overlayfs cannot copy them up (EOVERFLOW): the root is then
	 * read-only. */
	bool is_ours = (st.st_uid == geteuid() && st.st_gid == getegid()) ||
		       policy->idmap == IDMAP_RANGES;
	const bool is_overlay = !policy->is_image_writable && !policy->is_read_only &&
				is_ours;
	if (p->dir_user.is_added && !is_overlay)
		return err_set(
			e, ERR_UNSUPPORTED,
			"-u %.80s: the folder has no such user, and is shown as it is",
			policy->user);
	if (policy->is_image_writable)
		return check_own(path, &st, e) < 0 ? -1
						   : plan_dir_entries(p, policy, path, e);
	int planned = is_overlay ? plan_dir_overlay(p, policy, path, &st, e)
				 : plan_dir_entries(p, policy, path, e);
	return planned < 0 ? -1 : volumes_mask_image(p, policy, path, e);
}

static int plan_store(struct plan *p, const struct policy *policy, struct err *e)
{
	struct step *root = plan_add(p, STEP_OVERLAY, "/");

	root->data = text_copy(SCRATCH_SIZE);
	root->is_roots = p->has_ranges;
	root->lowers = p->has_ranges ? &p->store_image->ranged : &p->store_image->lowers;
	return plan_overlay(p, policy, &p->store_image->lowers, e);
}

int image_plan(struct plan *p, const struct policy *policy, struct err *e)
{
	if (p->store_image)
		return plan_store(p, policy, e);
	return policy->image == IMAGE_HOST ? plan_host(p, policy, e)
					   : plan_dir(p, policy, e);
}

/* Tells whether the image has bash.  In an image with layers, /bin may be a link whose
 * target, /usr/bin, is in another layer: such a link cannot be followed here, so both
 * paths are looked up. */
static bool has_bash(const struct plan *p, const struct policy *policy)
{
	AUTO_FREE char *path = text_format(
		"%s/bin/bash", policy->image == IMAGE_DIR ? policy->image_path : "");

	struct overlay_lowers_entry found[] = { { .path = "bin/bash", .follows = true },
					{ .path = "usr/bin/bash", .follows = true } };

	if (!p->store_image)
		return access(path, X_OK) == 0;
	overlay_lowers_look(&p->store_image->lowers, found, ARRAY_LEN(found));
	return !found[0].error || !found[1].error;
}

char *image_shell(const struct plan *p, const struct policy *policy)
{
	return text_copy(has_bash(p, policy) ? "/bin/bash" : "/bin/sh");
}

char *image_timezone(void)
{
	static const char mark[] = "/zoneinfo/";
	const char *named = getenv("TZ");
	char link[256];

	if (named && *named && *named != ':' && *named != '/' && strlen(named) < 64)
		return text_copy(named);
	ssize_t len = readlink("/etc/localtime", link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	const char *zone = strstr(link, mark);
	return text_copy(zone ? zone + sizeof(mark) - 1 : "UTC");
}
