# hutch: one Makefile, sources listed, no configure step.
#
#	make		build/hutch and build/libexec/*
#	make demo	packages for a build, the build, and a minute of hutch at work
#	make test	packages for tests, the build, each test once
#	make fresh-test	both of these on a fresh Debian
#	make nightly	all tests in every form, and the long ones
#	make check	unit tests only
#	make lint	rules of this tree: rooms, libraries, system calls, words, clocks,
#			sleeps
#	make vm-test	in machines of their own: limits where systemd delegates, and
#			what Debian's kernel has (vm-test-uml, vm-test-qemu)
#	make image-test	package managers in an image of Debian's
#	make clients-test	pip, git, Chromium and others with --network allow
#	make engines-test	other projects' suites, and container engines, with a runtime
#	make bench	against the kernel's own price and other tools (ONLY=launch,named)
#	make bench-guard	what costs over 3 % more CPU time or memory since the commit BASE
#	make install	PREFIX=/usr/local, DESTDIR=, APPARMOR=auto|yes|no
#	make dist	packages of a release, in build/dist; make dist-test tries them
#			(OLDER=1: with older libraries where a mirror lacks the newest)
#
# CC=clang builds the same with clang.

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
B       ?= build
PREFIX  ?= /usr/local
# Whether the AppArmor profile is installed; auto: where AppArmor knows the rule in it.
APPARMOR ?= auto
VERSION := 0.1.0
# ARCH=aarch64 on x86-64, and the other way round, builds for the other processor, with Debian's
# compiler for it, and headers and libraries in $(B)/sysroot (packaging/sysroot.sh).  B must be a
# folder of its own, as that of `make dist` is, since make does not see that ARCH has changed.
MACHINE := $(shell uname -m)
ARCH    := $(MACHINE)
MULTIARCH := $(ARCH)-linux-gnu
ifneq ($(ARCH),$(MACHINE))
CROSS   := $(MULTIARCH)-
SYSROOT := $(abspath $(B))/sysroot
MACHINE_CC := $(CC)
override CC := $(patsubst %gcc,%$(CROSS)gcc,$(CC)) --sysroot=$(SYSROOT)
endif
# STATIC=DIR: hutch-image and hutch-seccomp need no library of the host's either, as DIR has
# those of hutch-image (packaging/libraries.sh).
STATIC  :=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# --- rooms -----------------------------------------------------------------
#
# A room is a folder.  It is linked as an archive, from which a program takes what it calls.
# FILES_x are its sources but for a program's main.c, and USES_x the rooms whose headers it
# may include; the table goes from the lowest room up, and none uses one that stands behind
# it (tests/lint/rooms.py).

ROOMS := base policy/json policy/plugin policy/bash policy/seccomp policy/egress policy protocol archive store \
    executor/wire executor/process executor/terminal executor/session executor/files \
    executor/search executor/edit executor/fileops executor/plugin executor sandbox/kernel egress egress/gate egress/launch \
    sandbox/cgroup sandbox/state sandbox/plan sandbox/raw oci sandbox/monitor sandbox/root sandbox/launch \
    sandbox/landlock sandbox/learn sandbox/explain cli/common rootfs-tools/changes actions \
    supervisor supervisor/pool rootfs-tools/layers rootfs-tools/index rootfs-tools/registry \
    rootfs-tools/build rootfs-tools cli docker apptainer bwrap lib gateway/zip gateway/relay gateway gateway/route mcp

FILES_base := account answer arena await base64 buffer err frame hex io json_write lean term_keys list \
    nearest note redact regular fd_keep fd_pass \
    path resolve utf8 variables term_escape path_walk spot wait_line worker
USES_base :=

FILES_policy/json := json json_scan json_string
USES_policy/json := base

FILES_policy/plugin := manifest
USES_policy/plugin := base policy/json

FILES_policy/seccomp := bpf call_number compile floor profile profile_fit seccomp_why
USES_policy/seccomp := base policy/json

FILES_policy/bash := ansi_c compound expansion heredoc list scan simple test tree word
USES_policy/bash := base

FILES_policy/egress := address egress_check egress_presets egress_rule egress_rules \
    egress_rules_json host_name public_suffix reason sandbox_name
USES_policy/egress := base policy/json

FILES_policy := bpf_eval command_option commands commands_builtin commands_run egress_policy environment \
    extra_host isolation label named_user wildcard plugin_uses policy protect port_spec restart_rule signal_name units rules policy_file policy_file_print syscalls volume
USES_policy := base policy/json policy/bash policy/egress

FILES_protocol := action action_errand plugin socket_splice message
USES_protocol := base

FILES_archive := content entries inodes layer pack pack_output entry_path dir_names outcome unpack_dirs tar dir_stack unpack
USES_archive := base

FILES_store := digest folders image_nearest ledger ledger_check ledger_walk links lock refs launch_config reference \
    sha256 store rm_tree
USES_store := base

FILES_executor/wire := channel send_queue
USES_executor/wire := base protocol

FILES_executor/process := caps cgroup copy all_processes freezer halt processes relay seize spawn \
    terminal tree user workers
USES_executor/process := base protocol archive

FILES_executor/terminal := display emulator truncate_text row screen screen_control screen_draw \
    scrollback sequence grid text report_cursor
USES_executor/terminal := base

FILES_executor/session := shell_quote env_script session session_action session_output sessions shell \
    shell_inner shell_rc shell_text output_log
USES_executor/session := base protocol executor/wire executor/process executor/terminal

FILES_executor/files := encoding dir_entry files top_k walk
USES_executor/files := base protocol archive executor/wire executor/process

FILES_executor/search := glob grep grep_paths grep_tree nfa_match literal pattern pattern_bracket \
    pattern_rust nfa charset
USES_executor/search := base executor/files

FILES_executor/edit := diff edit editor editor_change editor_file editor_say editor_view undo \
    lint lints listing
USES_executor/edit := base protocol executor/wire executor/process executor/terminal \
    executor/files

FILES_executor/fileops := errand errand_account errand_change errand_changes errand_git \
    errand_grep errand_list errand_repository errands git ripgrep
USES_executor/fileops := base protocol executor/wire executor/process executor/session \
    executor/files executor/search

FILES_executor/plugin := plugins plugin_answer plugin_ask plugin_process plugin_read plugin_write
USES_executor/plugin := base policy/json policy/plugin protocol executor/wire executor/process \
    executor/session executor/files executor/edit

FILES_executor := port_connect ending executor requests
USES_executor := base protocol executor/wire executor/process executor/session executor/files \
    executor/edit executor/fileops executor/plugin

FILES_sandbox/kernel := notify_target caps cgroup_tree countdown diagnose landlock_root mount_api host_user idmap landlock \
    log_level listener mount_options netns network pivot procfs program pump rlimits seccomp seccomp_cache seccomp_compiler \
    sockets stdio mount_target terminal
USES_sandbox/kernel := base policy/seccomp policy

FILES_egress := asks client_hello dialer dns dns_names egress_confine frames http_body http_head gate_link \
    host_addresses hosts_file known_names lookups name_rate net_line resolved resolver \
    supervisor_link tcp_bytes upstream upstream_dial upstream_frame upstream_list upstream_open upstream_order \
    upstream_peer upstream_tell verdict
USES_egress := base policy/json policy/egress sandbox/kernel

FILES_egress/gate := flow flow_http flow_tls gate gateway link raw_socket refusals stream stub tproxy
USES_egress/gate := base policy/egress sandbox/kernel egress

FILES_egress/launch := egress egress_news egress_orders refused_host
USES_egress/launch := base policy/json policy/egress sandbox/kernel egress egress/gate

FILES_sandbox/cgroup := cgroup cgroup_limits cgroup_remove delegate delegate_remedy scope watchdog
USES_sandbox/cgroup := base policy sandbox/kernel

FILES_sandbox/state := holder saved_spec pools registry registry_connect registry_end registry_list \
    registry_look registry_name registry_watch state_dir
USES_sandbox/state := base policy/json policy store

FILES_sandbox/plan := added_user etc_names plugin_find image_passwd image image_tool image_user limits lookup lookup_place overlay_lowers protect_missing plan \
    plan_print plan_rlimits protect_scan store_image volumes
USES_sandbox/plan := base policy/plugin policy/egress policy protocol store sandbox/kernel

FILES_sandbox/raw := raw_bind raw_copy_up raw_files raw_mounts raw_overlay raw_plan
USES_sandbox/raw := base sandbox/kernel

FILES_oci := args cgroup_mounts cgroups cgroups_processes cgroups_v1 config config_linux console create \
    device_rules devices_made events exec features \
    fields filter hooks identity init lifecycle link list log mount_options mounts mounts_detached notify process \
    resources resources_apply resources_v1 run sealed spaces spaces_set_up spec start state systemd
USES_oci := base policy/json policy sandbox/kernel sandbox/cgroup sandbox/raw

FILES_sandbox/monitor := broker broker_bind broker_caller broker_calls broker_inside broker_open \
    broker_place denials denials_tell protect_watch trace trace_set
USES_sandbox/monitor := base policy/seccomp policy sandbox/kernel sandbox/plan

FILES_sandbox/root := etc_entry etc_folder root_copy cow cow_mount root_fuse root_fuse_server jail masks mounts mounts_bind overlay overlay_upper merged_view
USES_sandbox/root := base policy store sandbox/kernel sandbox/state sandbox/plan

FILES_sandbox/launch := audit audit_net audit_policy channel instance janitor launch audit_json peers ports result spawn \
    supervise
USES_sandbox/launch := base policy/json policy protocol store sandbox/kernel egress egress/launch sandbox/cgroup sandbox/state \
    sandbox/plan sandbox/monitor sandbox/root

FILES_sandbox/landlock := landlock_exec landlock_rules subreaper landlock_run
USES_sandbox/landlock := base policy protocol sandbox/kernel sandbox/plan sandbox/root \
    sandbox/launch

FILES_sandbox/learn := learn learn_later learn_out learn_paths learn_tell learn_write
USES_sandbox/learn := base policy/egress policy sandbox/kernel sandbox/plan sandbox/monitor sandbox/launch

FILES_sandbox/explain := checks probes probes_cgroup probes_user why why_connect why_exec why_refused
USES_sandbox/explain := base policy/egress policy store sandbox/kernel sandbox/cgroup sandbox/plan \
    sandbox/root

FILES_cli/common := client foreach_sandbox flags fd_flag foreign_flags option_table options \
    subcommands json_view log_print report table ask
USES_cli/common := base policy/json policy/egress policy store sandbox/kernel sandbox/state sandbox/root \
    sandbox/launch

FILES_rootfs-tools/changes := apply apply_ahead apply_check apply_job apply_kept apply_make apply_maker \
    apply_protect apply_record changes chosen changes_stream changes_tell changes_walk kept_changes patch \
    reader repository rmdir_check root_changes unified upper_scan
USES_rootfs-tools/changes := base policy archive store sandbox/kernel sandbox/root cli/common

FILES_actions := action action_errand action_git dedup args stderr_denials dispatcher dispatcher_attach dispatcher_audit dispatcher_env \
    dispatcher_frame dispatcher_judge dispatcher_start denial_reason lines observe observe_errand observe_git reply_queue fd_writer \
    queue sandbox_info bash_split stream redact_json plugin_table dispatcher_plugin observe_plugin
USES_actions := base policy/json policy/bash policy protocol store egress/launch sandbox/cgroup sandbox/plan sandbox/monitor \
    sandbox/launch sandbox/explain cli/common rootfs-tools/changes

FILES_supervisor := create restart_spec restarts main_process request capture clients clocks confine events info jobs supervisor_log output_ring lease log \
    methods methods_exec methods_net methods_port methods_start methods_update methods_user create_options outputs \
    net net_rules outputs_tell peer records rpc samples pause supervisor connection
USES_supervisor := base policy/json policy/seccomp policy/egress policy protocol store sandbox/kernel egress/launch \
    sandbox/cgroup sandbox/state sandbox/plan sandbox/launch cli/common actions

FILES_supervisor/pool := pool_spawn pace pool pool_clients
USES_supervisor/pool := base policy sandbox/kernel sandbox/state sandbox/launch cli/common \
    supervisor

FILES_rootfs-tools/layers := blobs count gunzip hash inflate layers shared_library merged quota \
    ranged image_copy layer_pipeline
USES_rootfs-tools/layers := base policy archive store sandbox/kernel sandbox/root cli/common \
    rootfs-tools/changes

FILES_rootfs-tools/index := store_index gc config document images images_make index
USES_rootfs-tools/index := base policy/json store rootfs-tools/layers

FILES_rootfs-tools/registry := challenge credentials pull_workers fetch credential_helper http mirrors progress \
    registry token
USES_rootfs-tools/registry := base policy/json store rootfs-tools/layers rootfs-tools/index

FILES_rootfs-tools/build := base_image build build_cache context copy_step copying dockerfile \
    dockerfile_lines expand ignore image_config copy_layer run_step runtime_tags source_hash \
    sources stages steps
USES_rootfs-tools/build := base policy/json policy archive store sandbox/kernel sandbox/root sandbox/launch \
    rootfs-tools/changes rootfs-tools/layers rootfs-tools/index

FILES_rootfs-tools := build_main export export_root import import_layout import_root inspect ls pull \
    quota_verb ranged_main replica_main rm runtime_main sink snapshot snapshot_main source tag \
    verify
USES_rootfs-tools := base policy/json policy archive store sandbox/kernel sandbox/state \
    sandbox/plan sandbox/root sandbox/launch cli/common rootfs-tools/changes rootfs-tools/layers \
    rootfs-tools/index rootfs-tools/registry rootfs-tools/build

FILES_cli := apply audit audit_show belt bridge change_line changes changes_record copy_request cp \
    diff discard \
    doctor events exec foreign_verbs stats_poll consent choose \
    remote_notes inspect copy_dest logs net_log net_main plugin plugin_install policy pool pool_client port copy_worker ps ps_row ps_usage rm run stats lifecycle \
    stream update why why_live
USES_cli := base policy/plugin policy/egress policy protocol archive store sandbox/kernel sandbox/cgroup sandbox/state \
    sandbox/plan sandbox/root sandbox/launch sandbox/landlock sandbox/learn sandbox/explain \
    cli/common rootfs-tools/changes supervisor

FILES_docker := about args attach container describe images lifecycle list_format mount_args ps run_args show start template template_call template_printf tree user_policy verb volumes wait
USES_docker := base policy store sandbox/kernel sandbox/state sandbox/launch cli/common

FILES_apptainer := about action_args bind_args build env_args inside instance launch limit_args sandbox_dir sif source start stored
USES_apptainer := base policy/egress policy store sandbox/kernel sandbox/state sandbox/launch cli/common docker

FILES_bwrap := args child command filters launch message namespaces option_data option_ops option_values options \
    privileges reaper status steps wording
USES_bwrap := base sandbox/kernel sandbox/raw

FILES_lib := pool_take call json_build error handle helper reader members opening writer remove request \
    run wait connect
USES_lib := base policy/json store sandbox/state sandbox/launch cli/common

FILES_gateway/zip := tar_to_zip zip zip_to_tar
USES_gateway/zip := base archive

FILES_gateway/relay := mcp_merge mcp_message mcp_names mcp_relay mcp_servers
USES_gateway/relay := base policy/json

FILES_gateway := action_server box box_id command connect_frames copy download e2b_api e2b_code \
    e2b_connect e2b_envd e2b_files e2b_filesystem e2b_input e2b_process e2b_sandbox e2b_watch epochs fields \
    free_memory gateway guard http image_build job job_box job_build keys listen loop mcp_sse native_api native_methods \
    native_stream order request_log runtime_api serve_confine settings spawner spawn_link survey upload
USES_gateway := base policy/json policy archive store sandbox/kernel sandbox/state sandbox/plan sandbox/launch cli/common \
    rootfs-tools/layers gateway/zip gateway/relay

FILES_gateway/route := asks client client_ask client_pass client_reply client_turn connector connector_confine decide dials figures front merge phase pods request
USES_gateway/route := base policy/json policy sandbox/kernel egress sandbox/launch cli/common \
    gateway

FILES_mcp := batch boxes capture consent exec files job maker message reply server setup tool_result tools
USES_mcp := base policy/json policy/egress policy store sandbox/kernel sandbox/state sandbox/launch \
    cli/common actions lib gateway

# ALL_x: a room and the rooms below that it is linked with, highest first.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
HIGHEST_FIRST := $(call reverse,$(ROOMS))
rooms_below = $(filter $(1) $(foreach u,$(1),$(ALL_$(u))),$(HIGHEST_FIRST))
$(foreach r,$(ROOMS),$(eval ALL_$(r) := $(r) $(call rooms_below,$(USES_$(r)))))

UNIT     := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))

# libhutch: of other rooms it has the files that it calls, and no more, since what aborts where
# memory is out is in none of them (tests/run/library.bats).
LIBHUTCH_SRC := $(patsubst %,lib/%.c,$(FILES_lib)) \
                $(patsubst %,base/%.c,base64 err fd_pass list utf8) \
                $(patsubst %,policy/json/%.c,json_scan json_string) \
                cli/common/json_view.c sandbox/state/registry_name.c store/folders.c

# --- flags -----------------------------------------------------------------

WARN   := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes \
          -Wswitch-enum -Wpointer-arith -Wvla -Wwrite-strings $(if $(CI),-Werror)
HARDEN := -fPIE -fstack-protector-strong -fno-common -fcf-protection
ifneq ($(ARCH),x86_64)
HARDEN := $(filter-out -fcf-protection,$(HARDEN))
endif
# Builds for tests, or for another compiler's warnings, use faster flags.
OPTIMIZE ?= -O2 -g
BASE_CFLAGS := -std=gnu11 $(OPTIMIZE) -D_GNU_SOURCE -DHUTCH_VERSION='"$(VERSION)"' -I. -I$(B) \
               $(WARN) $(HARDEN) $(EXTRA)
# libseccomp is in the program, so that the program's own identity, which the
# cache of compiled profiles goes by, covers it.
COMPILER_LIBS := -Wl,-Bstatic -lseccomp -Wl,-Bdynamic
# The sets and names of capabilities, in each program that may drop or name one.
CAPS_LIBS     := -Wl,-Bstatic -lcap -Wl,-Bdynamic
# The terminal library is in the executor, and in programs linked with its parts.
VTERM_LIBS    := -Wl,-Bstatic -lvterm -Wl,-Bdynamic
# The resolver of hutch-egress.
CARES_LIBS    := -Wl,-Bstatic -lcares -Wl,-Bdynamic
NETLINK_LIBS  := -Wl,-Bstatic -lnl-route-3 -lnl-3 -Wl,-Bdynamic
# glibc's; musl has no such checks.
FORTIFY ?= -D_FORTIFY_SOURCE=2
LDHARDEN := -Wl,-z,relro,-z,now,-z,noexecstack

# hutch, hutch-act, hutch-apptainer, hutch-bwrap, hutch-docker, hutch-egress, hutch-executor, hutch-gate,
# hutch-mcp, hutch-oci, hutch-pool, hutch-route and hutch-supervise are static
# with musl.  A sandbox starts up to three of them, so what the C library does before
# main() counts: glibc's start-up executes some forty cpuid instructions, each of
# which traps to the hypervisor of a virtual machine (docs/speed.md).  musl's does not.
# Debian's musl-tools has it; its compiler wrapper cannot make a static PIE, so
# its parts are named here.  libgcc calls musl, too, on aarch64.
MUSL     := $(SYSROOT)/usr/lib/$(ARCH)-linux-musl
ifneq (,$(findstring clang,$(CC)))
CC_INCLUDE = $(shell $(CC) -print-resource-dir)/include
else
CC_INCLUDE = $(shell $(CC) -print-file-name=include)
endif
# No unwind tables: C needs none, a debugger has its own, and they would be an eighth of
# what a program has in memory.
MUSL_CFLAGS = -fno-asynchronous-unwind-tables -fno-unwind-tables \
              -nostdinc -isystem $(SYSROOT)/usr/include/$(ARCH)-linux-musl -isystem $(CC_INCLUDE) \
              -idirafter $(SYSROOT)/usr/include -idirafter $(SYSROOT)/usr/include/$(MULTIARCH)
MUSL_LINK   = $(CC) -nostdlib -static-pie $(LDHARDEN) -Wl,--gc-sections -o $@ \
              $(MUSL)/rcrt1.o $(MUSL)/crti.o $(filter %.o %.a,$^) $(MUSL_LIBS) -L$(MUSL) \
              -Wl,--start-group -lc $$($(CC) -print-libgcc-file-name) -Wl,--end-group $(MUSL)/crtn.o

# --- programs --------------------------------------------------------------

PROGRAMS := $(B)/hutch $(addprefix $(B)/libexec/hutch-,act apptainer bwrap docker egress executor gate \
    image mcp oci pool route scope seccomp serve supervise)

# V=1 shows each command.
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@printf '  %-5s %s\n' $(1) $@)

LIB      := $(B)/lib/libhutch
LIBS     := $(LIB).so.0 $(LIB).so $(LIB).a

.PHONY: all
all: $(PROGRAMS) $(LIBS) $(B)/libexec/plugins/made

# LINK=host: with the host's C library and dynamic, for sanitizers.
LINK ?= musl
PIE = -pie
HOST_LINK = $(CC) $(PIE) $(LDHARDEN) $(HOST_EXTRA) $(LINKER) -o $@ $(filter %.o %.a,$^) $(HOST_LIBS)
LINK_IT   = $(if $(filter host,$(LINK)),$(HOST_LINK),$(MUSL_LINK))
# musl has a memmove of its own for each processor; that of this one is slow (memmove.c).
MEMMOVE := $(if $(filter x86_64,$(ARCH)),$(B)/musl/base/memmove.o)
# Debian's libcap.a and libvterm.a are made for glibc, whose checked functions glibc.c has.
# They are named by their paths, since musl must find none of the libraries that are beside them.
MUSL_PARTS := $(if $(filter musl,$(LINK)),$(MEMMOVE) $(B)/musl/base/glibc.o)
MUSL_LIBS  := $(SYSROOT)/usr/lib/$(MULTIARCH)/libcap.a
HOST_LIBS  := $(CAPS_LIBS)

# x.a of a room, with either C library.
define room
$(B)/host/$(1).a: $(FILES_$(1):%=$(B)/host/$(1)/%.o)
$(B)/musl/$(1).a: $(FILES_$(1):%=$(B)/musl/$(1)/%.o)
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))
# The compiler of seccomp profiles is glibc's and libseccomp's; static programs use its headers.
HOST_ONLY := policy/seccomp
host_rooms = $(patsubst %,$(B)/host/%.a,$(call rooms_below,$(1)))
linked_rooms = $(patsubst %,$(B)/$(LINK)/%.a,$(filter-out $(HOST_ONLY),$(call rooms_below,$(1)))) \
               $(MUSL_PARTS)

$(B)/%.a:
	$(call say,AR)
	$(Q)rm -f $@ && $(CROSS)ar rcsTD $@ $^

# Programs: their main.o, and rooms.  Those below that use HOST_LINK are dynamic, with glibc.
# Memory of hutch, and of hutch-supervise while it starts, is an arena's (base/malloc.c).
WRAP_MALLOC := -Wl,--wrap=malloc,--wrap=free,--wrap=calloc,--wrap=realloc
$(B)/hutch $(B)/libexec/hutch-supervise: private LDHARDEN += $(if $(filter musl,$(LINK)),$(WRAP_MALLOC))
ALLOCATOR := $(if $(filter musl,$(LINK)),$(B)/musl/base/malloc.o)
$(B)/hutch: $(B)/$(LINK)/cli/main.o $(ALLOCATOR) $(if $(filter host,$(LINK)),$(B)/host/tests/short_lived.o) \
  $(call linked_rooms,cli)
# The plugins that hutch ships, beside its programs.
PLUGIN_FILES := $(shell find plugins -mindepth 2 -type f ! -path '*/__pycache__/*')
$(B)/libexec/plugins/made: $(PLUGIN_FILES)
	$(call say,PLUGINS)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)for file in $(PLUGIN_FILES); do mode=644; [ ! -x "$$file" ] || mode=755; \
	  install -D -m $$mode "$$file" "$(B)/libexec/$$file" || exit; done
	@touch $@

$(B)/libexec/hutch-act: $(B)/$(LINK)/actions/main.o $(call linked_rooms,actions)
$(B)/libexec/hutch-bwrap: $(B)/$(LINK)/bwrap/main.o $(call linked_rooms,bwrap)
$(B)/libexec/hutch-docker: $(B)/$(LINK)/docker/main.o $(call linked_rooms,docker)
$(B)/libexec/hutch-apptainer: $(B)/$(LINK)/apptainer/main.o $(call linked_rooms,apptainer)
# hutch-mcp has two files of the gateway, whose others need libraries of glibc's.
$(B)/libexec/hutch-mcp: $(B)/$(LINK)/mcp/main.o $(patsubst %,$(B)/$(LINK)/gateway/%.o,loop command) \
  $(filter-out %/gateway.a %/gateway/zip.a %/gateway/mcp.a,$(call linked_rooms,mcp))
$(B)/libexec/hutch-oci: $(B)/$(LINK)/oci/main.o $(call linked_rooms,oci)
# So has hutch-route.
$(B)/libexec/hutch-route: $(B)/$(LINK)/gateway/route/main.o $(patsubst %,$(B)/$(LINK)/gateway/%.o,box_id \
  free_memory listen loop serve_confine) \
  $(filter-out %/gateway.a %/gateway/zip.a %/gateway/relay.a,$(call linked_rooms,gateway/route))
$(B)/libexec/hutch-supervise: $(B)/$(LINK)/supervisor/main.o $(ALLOCATOR) $(call linked_rooms,supervisor)
$(B)/libexec/hutch-pool: $(B)/$(LINK)/supervisor/pool/main.o $(call linked_rooms,supervisor/pool)

# The executor makes the calls of capabilities itself (executor/process/caps.c).
$(B)/libexec/hutch-executor: MUSL_LIBS := $(SYSROOT)/usr/lib/$(MULTIARCH)/libvterm.a
$(B)/libexec/hutch-executor: HOST_LIBS := $(VTERM_LIBS)
$(B)/libexec/hutch-executor: $(B)/$(LINK)/executor/main.o $(call linked_rooms,executor)

$(B)/libexec/hutch-egress: MUSL_LIBS := $(addprefix $(SYSROOT)/usr/lib/$(MULTIARCH)/,libcap.a libcares.a)
$(B)/libexec/hutch-egress: HOST_LIBS := $(CAPS_LIBS) $(CARES_LIBS)
$(B)/libexec/hutch-egress: $(B)/$(LINK)/egress/egress_main.o $(call linked_rooms,egress)
# The gate makes a sandbox's network by netlink.
GATES := $(B)/libexec/hutch-gate $(B)/bench/single/libexec/hutch-gate
$(GATES): MUSL_LIBS := $(addprefix $(SYSROOT)/usr/lib/$(MULTIARCH)/,libcap.a libnl-route-3.a libnl-3.a)
$(GATES): HOST_LIBS := $(CAPS_LIBS) $(NETLINK_LIBS)
$(GATES): $(B)/$(LINK)/egress/gate/main.o $(call linked_rooms,egress/gate)
$(B)/host/egress/gate/gateway.o: UNIT_FLAGS += -isystem $(SYSROOT)/usr/include/libnl3
$(B)/musl/egress/gate/gateway.o: MUSL_CFLAGS += -isystem $(SYSROOT)/usr/include/libnl3

$(B)/hutch $(B)/libexec/hutch-act $(B)/libexec/hutch-apptainer $(B)/libexec/hutch-bwrap \
    $(B)/libexec/hutch-docker $(B)/libexec/hutch-mcp $(B)/libexec/hutch-oci $(B)/libexec/hutch-supervise \
    $(B)/libexec/hutch-pool $(B)/libexec/hutch-route \
$(B)/libexec/hutch-executor $(B)/libexec/hutch-egress $(GATES):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# libcurl, libarchive and libisal are loaded when they are needed (rootfs-tools/layers/shared_library.h).
IMAGE_LIBS := -lcrypto
ifeq ($(STATIC),)
$(B)/libexec/hutch-image: HOST_LIBS := $(IMAGE_LIBS) $(CAPS_LIBS)
$(B)/libexec/hutch-image: $(B)/host/rootfs-tools/main.o $(call host_rooms,rootfs-tools)
$(B)/libexec/hutch-serve: HOST_LIBS := -lmicrohttpd -larchive $(IMAGE_LIBS) $(CAPS_LIBS)
$(B)/libexec/hutch-serve: $(B)/host/gateway/main.o $(call host_rooms,gateway lib)
else
MUSL_CFLAGS := -nostdinc -isystem $(STATIC)/include -DHUTCH_STATIC $(filter-out -nostdinc,$(MUSL_CFLAGS))
$(B)/libexec/hutch-image: MUSL_LIBS := $(SYSROOT)/usr/lib/$(MULTIARCH)/libcap.a \
  $(addprefix $(STATIC)/lib/lib,curl.a ssl.a crypto.a archive.a lzma.a zstd.a z.a isal.a)
$(B)/libexec/hutch-image: $(B)/musl/rootfs-tools/main.o $(call linked_rooms,rootfs-tools)
$(B)/libexec/hutch-serve: MUSL_LIBS := $(SYSROOT)/usr/lib/$(MULTIARCH)/libcap.a \
  $(addprefix $(STATIC)/lib/lib,microhttpd.a crypto.a archive.a lzma.a zstd.a z.a)
$(B)/libexec/hutch-serve: $(B)/musl/gateway/main.o $(call linked_rooms,gateway lib)
$(B)/libexec/hutch-image $(addprefix $(B)/musl/rootfs-tools/,registry/http.o layers/inflate.o \
  layers/gunzip.o layers/hash.o) \
$(B)/libexec/hutch-serve $(addprefix $(B)/musl/gateway/,http.o zip/zip.o): $(STATIC)/versions
# Compiled anew when the folder was removed, as for a new version of a library.
$(STATIC)/versions: packaging/libraries.sh $(if $(CROSS),| $(SYSROOT)/made)
	$< $(STATIC) $(ARCH) $(SYSROOT)
endif
$(B)/libexec/hutch-image $(B)/libexec/hutch-serve:
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(if $(STATIC),$(MUSL_LINK),$(HOST_LINK))

$(B)/libexec/hutch-seccomp: HOST_LIBS := $(if $(STATIC),-lseccomp,$(COMPILER_LIBS))
$(B)/libexec/hutch-seccomp: PIE = $(if $(STATIC),-static-pie,-pie)
$(B)/libexec/hutch-seccomp: $(B)/host/policy/seccomp/main.o $(call host_rooms,policy/seccomp)
$(B)/libexec/hutch-scope: HOST_LIBS := -lsystemd
$(B)/libexec/hutch-scope: $(B)/host/sandbox/cgroup/scope_main.o $(B)/host/sandbox/cgroup/scope_bus.o
$(B)/libexec/hutch-seccomp $(B)/libexec/hutch-scope:
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK)

PIC_CFLAGS = -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -Iinclude
$(B)/pic/%.o: %.c | $(B)/headers
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(FORTIFY) $(HOST_EXTRA) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<

LIBHUTCH_OBJ := $(patsubst %.c,$(B)/pic/%.o,$(LIBHUTCH_SRC))
$(LIB).so.0: $(LIBHUTCH_OBJ) lib/libhutch.map
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared $(LDHARDEN) $(if $(HOST_EXTRA),,-Wl,-z,defs) -Wl,--gc-sections -Wl,-soname,libhutch.so.0 \
	  -Wl,--version-script=lib/libhutch.map $(HOST_EXTRA) $(LINKER) -o $@ $(filter %.o,$^) -pthread
$(LIB).so: $(LIB).so.0
	$(Q)ln -sf $(<F) $@

# One object, in which all names except the header's are local.
$(LIB).a: $(LIBHUTCH_OBJ)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)$(CROSS)ld -r -o $(B)/pic/libhutch.o $(filter %.o,$^)
	$(Q)$(CROSS)objcopy --localize-hidden $(B)/pic/libhutch.o
	$(Q)rm -f $@ && $(CROSS)ar rcsD $@ $(B)/pic/libhutch.o

# Headers that the build makes, and the objects that include each.
needs = $(foreach f,host musl,$(B)/$(f)/$(1).o): $(patsubst %,$(B)/gen/%.h,$(2))
$(eval $(call needs,policy/syscalls,syscalls))
$(eval $(call needs,policy/policy_file,profiles))
$(eval $(call needs,policy/egress/egress_presets,egress_presets))
$(eval $(call needs,policy/seccomp/main,seccomp_texts))
$(eval $(call needs,sandbox/kernel/seccomp,$(addprefix seccomp_,default floor nesting nesting_floor pretend landlock \
  landlock_offline landlock_online landlock_early)))
$(eval $(call needs,supervisor/confine,seccomp_supervisor))
$(eval $(call needs,sandbox/root/jail,seccomp_jail))
$(eval $(call needs,egress/gate/main,seccomp_gate))
$(eval $(call needs,egress/egress_confine,seccomp_egress))
$(eval $(call needs,gateway/serve_confine,seccomp_serve))
$(eval $(call needs,gateway/route/connector_confine,seccomp_connector))
$(eval $(call needs,gateway/native_api,openapi))
$(eval $(call needs,tests/unit/test_openapi,openapi))
$(eval $(call needs,sandbox/launch/peers,seccomp_peers))
$(eval $(call needs,sandbox/monitor/broker,seccomp_broker))
$(eval $(call needs,tests/bench/floor,seccomp_default))

# A filter is an array, made when hutch is built.  The other architecture's is compiled too,
# so that neither is broken unseen.
# A build for another processor has a second hutch-seccomp, which runs here.
COMPILER := $(B)$(if $(CROSS),/$(MACHINE))/libexec/hutch-seccomp
ifneq ($(CROSS),)
$(COMPILER): $(B)/libexec/hutch-seccomp
	+$(Q)$(MAKE) --no-print-directory ARCH=$(MACHINE) CC="$(MACHINE_CC)" B=$(B)/$(MACHINE) STATIC= $@
endif
$(B)/gen/seccomp_%.h: policy/seccomp/%.json $(COMPILER)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(COMPILER) compile --arch x86_64 < $< > /dev/null
	$(Q)$(COMPILER) compile --arch aarch64 < $< > /dev/null
	$(Q)$(COMPILER) compile --arch $(ARCH) --c-array < $< > $@

# With --nesting.
NESTING := --floor nesting --cap CAP_SYS_ADMIN
$(B)/gen/seccomp_nesting.h: policy/seccomp/default.json
$(B)/gen/seccomp_nesting_floor.h: policy/seccomp/floor.json
$(B)/gen/seccomp_nesting.h $(B)/gen/seccomp_nesting_floor.h: $(COMPILER)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(COMPILER) compile $(NESTING) --arch x86_64 < $(filter %.json,$^) > /dev/null
	$(Q)$(COMPILER) compile $(NESTING) --arch aarch64 < $(filter %.json,$^) > /dev/null
	$(Q)$(COMPILER) compile $(NESTING) --arch $(ARCH) --c-array < $(filter %.json,$^) > $@

# The names of system calls by their numbers, for the launcher, which links no libseccomp.
$(B)/gen/syscalls.h: $(COMPILER)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$< names --arch $(ARCH) > $@

# The policies that hutch has, as C strings, in the order of their names.
AS_STRINGS = for p in $^; do \
	  echo "{ \"$$(basename $$p .json)\","; \
	  sed -e 's/[\\"]/\\&/g' -e 's/^/"/; s/$$/\\n"/' $$p; echo "},"; \
	done > $@
$(B)/gen/profiles.h: $(sort $(wildcard policy/profiles/*.json))
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(AS_STRINGS)
$(B)/gen/egress_presets.h: $(sort $(wildcard policy/egress/presets/*.json))
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(AS_STRINGS)
$(B)/gen/seccomp_texts.h: policy/seccomp/default.json policy/seccomp/pretend.json
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(AS_STRINGS)

# One C string.
$(B)/gen/openapi.h: gateway/openapi.json
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sed -e 's/[\\"]/\\&/g' -e 's/^/"/; s/$$/\\n"/' $< > $@

# Otherwise the compiler would turn the loops of these functions into calls of themselves.
$(B)/musl/base/memmove.o: MUSL_CFLAGS += -fno-builtin \
  $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)
# libhutch includes its header as its users do.
$(B)/musl/lib/%.o $(B)/musl/mcp/%.o $(B)/musl/gateway/%.o: MUSL_CFLAGS += -Iinclude

$(B)/musl/%.o: %.c | $(B)/headers
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(MUSL_CFLAGS) $(BASE_CFLAGS) -ffunction-sections -MMD -MP -c -o $@ $<

$(B)/host/%.o: %.c | $(B)/headers
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(FORTIFY) $(HOST_EXTRA) $(UNIT_FLAGS) -MMD -MP -c -o $@ $<
# A test is compiled more often than it runs.
$(B)/host/tests/unit/%.o: UNIT_FLAGS := -O0 -U_FORTIFY_SOURCE
$(foreach r,$(BUSY),$(eval $(B)/host/$(r)/%.o: UNIT_FLAGS := -O1))

-include $(shell test -d $(B) && find $(B) -path $(B)/dist -prune -o -type f -name '*.d' -print)

.PHONY: clean
clean:
	rm -rf $(B)

# --- packages --------------------------------------------------------------

# Names of Debian 12: what a build and an installation need, what the demo runs besides, and
# what only tests need.  A package that is installed is not requested again; if all
# are, root is not needed.
BUILD_DEPS := gcc libc6-dev musl-tools libarchive-dev libisal-dev libcurl4-openssl-dev libssl-dev \
        libseccomp-dev libcap-dev libsystemd-dev libvterm-dev libc-ares-dev libnl-route-3-dev libmicrohttpd-dev go-md2man
DEMO_DEPS  := $(BUILD_DEPS) python3
TEST_DEPS  := $(DEMO_DEPS) libcmocka-dev clang libclang-rt-14-dev lld ripgrep pyflakes3 bats bubblewrap \
        uidmap git procps iproute2 util-linux bsdutils groff-base strace user-mode-linux kmod debootstrap \
        btrfs-progs e2fsprogs vim less curl docker-registry skopeo umoci busybox-static python3-venv \
        fuse-overlayfs attr zstd xz-utils apparmor openssl ca-certificates libcap2-bin patch zsh fish jq squashfs-tools podman
# Other projects' suites and engines (tests/engines); their newer versions come from the Go module
# proxy and from Debian's source packages.
ENGINES_DEPS := gcc libc6-dev git meson ninja-build libcap-dev python3-seccomp bubblewrap crun runc \
        podman busybox-static uidmap libseccomp-dev containerd containernetworking-plugins iproute2 \
        munge slurmctld slurmd slurm-client jq etcd-server openssl debootstrap iptables
DIST_DEPS  := $(BUILD_DEPS) dpkg-dev nasm perl python3-wheel
# Another processor's: the compiler here, and what sysroot.sh unpacks.
CROSS_DEPS := gcc-$(subst x86_64,x86-64,$(MULTIARCH))
SYSROOT_DEPS := libc6-dev musl-dev libcap-dev libseccomp-dev libsystemd-dev libvterm-dev libc-ares-dev \
        libnl-route-3-dev
.PHONY: deps demo-deps test-deps vm-deps dist-deps engines-deps
deps: NEEDED = $(BUILD_DEPS)
demo-deps: NEEDED = $(DEMO_DEPS)
test-deps: NEEDED = $(TEST_DEPS)
vm-deps: NEEDED = $(if $(CROSS),debootstrap e2fsprogs kmod cpio qemu-system-arm,$(TEST_DEPS) qemu-system-x86)
dist-deps: NEEDED = $(DIST_DEPS) $(if $(CROSS),$(CROSS_DEPS))
engines-deps: NEEDED = $(ENGINES_DEPS)
deps demo-deps test-deps vm-deps dist-deps engines-deps:
	@command -v dpkg-query >/dev/null || { \
	  echo "make $@ knows Debian's packages only; needed are the counterparts of:" \
	    "$(NEEDED)" >&2; exit 1; }; \
	missing=; for p in $(NEEDED); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || \
	    missing="$$missing $$p"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	line="apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$$missing"; \
	if [ "$$(id -u)" = 0 ]; then echo "$$line"; sh -c "$$line"; \
	elif command -v sudo >/dev/null; then echo "sudo: $$line"; sudo sh -c "$$line"; \
	else echo "as root: $$line" >&2; exit 1; fi

# Missing packages are named before the build, not by the first of many errors.
HEADERS := archive.h ares.h curl/curl.h isa-l/igzip_lib.h microhttpd.h netlink/netlink.h openssl/evp.h seccomp.h sys/capability.h \
           systemd/sd-bus.h vterm.h
# Those that libraries.sh brings.
STATIC_HEADERS := $(if $(STATIC),archive.h curl/curl.h isa-l/igzip_lib.h microhttpd.h openssl/evp.h)
ifneq ($(CROSS),)
$(B)/headers: | $(SYSROOT)/made
$(SYSROOT)/made: packaging/sysroot.sh
	$(call say,APT)
	$(Q)$< $(SYSROOT) $(ARCH) $(SYSROOT_DEPS)
endif
$(B)/headers:
	@mkdir -p $(@D); missing=; \
	command -v $(firstword $(CC)) >/dev/null || missing=" $(firstword $(CC))"; \
	[ -n "$$missing" ] || for h in stdio.h $(filter-out $(STATIC_HEADERS),$(HEADERS)); do \
	  echo "#include <$$h>" | $(CC) -isystem $(SYSROOT)/usr/include/libnl3 -E -x c -o /dev/null - 2>/dev/null || missing="$$missing $$h"; \
	done; \
	[ -e $(MUSL)/libc.a ] || missing="$$missing musl"; \
	[ -z "$$missing" ] || { echo "not found, and needed to build hutch:$$missing" >&2; \
	  echo "make deps installs it on Debian; as root: apt-get install --no-install-recommends $(BUILD_DEPS)" >&2; \
	  exit 1; }; \
	: >$@

# --- man pages, installation, demo -----------------------------------------

.PHONY: man
man: $(B)/man/made
$(B)/man/made: $(wildcard docs/hutch*.md) docs/libhutch.md docs/man.awk docs/verb.awk packaging/man.sh
	$(call say,MAN)
	$(Q)packaging/man.sh $(B)/man $(VERSION)
	@touch $@

.PHONY: install
install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hutch \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/hutch/seccomp \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d \
	  $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 755 $(B)/hutch $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(filter $(B)/libexec/%,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/libexec/hutch
	for file in $(PLUGIN_FILES); do mode=644; [ ! -x "$$file" ] || mode=755; \
	  install -D -m $$mode "$$file" "$(DESTDIR)$(PREFIX)/libexec/hutch/$$file" || exit; done
	install -m 644 $(B)/man/man1/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(B)/man/man3/*.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 include/hutch.h $(DESTDIR)$(PREFIX)/include
	install -m 755 $(LIB).so.0 $(DESTDIR)$(PREFIX)/lib
	ln -sf libhutch.so.0 $(DESTDIR)$(PREFIX)/lib/libhutch.so
	install -m 644 $(LIB).a $(DESTDIR)$(PREFIX)/lib
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' lib/hutch.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/hutch.pc
	install -m 644 policy/seccomp/default.json $(DESTDIR)$(PREFIX)/share/hutch/seccomp
	install -m 644 completions/hutch.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hutch
	install -m 644 completions/_hutch $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	install -m 644 completions/hutch.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	@packaging/apparmor/install.sh '$(APPARMOR)' '$(DESTDIR)' '$(PREFIX)'

# Removes what `make install` has installed with the same PREFIX and DESTDIR.
.PHONY: uninstall
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/libexec/hutch $(DESTDIR)$(PREFIX)/share/hutch
	cd $(DESTDIR)$(PREFIX) && rm -f bin/hutch include/hutch.h lib/libhutch.so.0 lib/libhutch.so \
	  lib/libhutch.a lib/pkgconfig/hutch.pc share/bash-completion/completions/hutch \
	  share/zsh/site-functions/_hutch share/fish/vendor_completions.d/hutch.fish \
	  share/man/man1/hutch.1 share/man/man1/hutch-*.1 share/man/man3/libhutch.3
	@packaging/apparmor/install.sh remove '$(DESTDIR)' '$(PREFIX)'

# --- packages of a release ---------------------------------------------------

# A tarball, a .deb and a wheel in build/dist, whose programs are static; with ARCH=aarch64 for
# that processor.  The same sources and libraries give the same bytes in any folder.
DIST      := $(B)/dist
DIST_FILES = $(DIST)/$(ARCH)
DIST_STATIC = $(abspath $(DIST_FILES)/libraries)
DIST_MAKE  = $(MAKE) B=$(DIST_FILES) CC="$(or $(MACHINE_CC),$(CC))" ARCH=$(ARCH) STATIC=$(DIST_STATIC) \
             OPTIMIZE="-O2 -ffile-prefix-map=$(CURDIR)=." APPARMOR=no
.PHONY: dist
dist: dist-deps
	+$(DIST_MAKE) $(DIST_STATIC)/versions
	+$(DIST_MAKE) $(JOBS) all
	rm -rf $(DIST_FILES)/root
	+$(DIST_MAKE) install DESTDIR=$(abspath $(DIST_FILES)/root) PREFIX=/usr
	$(CROSS)strip $(DIST_FILES)/root/usr/bin/hutch $(DIST_FILES)/root/usr/libexec/hutch/hutch-*
	packaging/dist.sh $(VERSION) $(ARCH) $(DIST_FILES) $(DIST_FILES)/root/usr $(DIST)

.PHONY: demo
demo: demo-deps
	@+demo/build.sh $(MAKE) -j$(shell nproc) all
	@demo/demo.sh $(B)/hutch

# --- tests -----------------------------------------------------------------

# A unit test is linked with the rooms whose headers it includes, by itself or by a helper, and
# with what these use: a wrong arrow does not link.  The helpers that play the supervisor need
# all of the executor.
INCLUDES := $(shell grep -oE '^.include "[a-z0-9_/-]+' tests/*.h tests/unit/*.[ch] tests/fuzz/*.[ch] | \
              sed -E 's,\.[ch]:.include ",:,; /:tests/!s,/[^/]*$$,,' | sort -u)
included = $(patsubst $(1):%,%,$(filter $(1):%,$(INCLUDES)))
# The two sides use some names twice (caps, terminal, spawn), so a test of the executor has
# nothing of the launcher, which helpers include for the tests of that.
helped   = $(if $(filter executor%,$(1)),$(1),$(1) $(foreach h,$(filter tests/%,$(1)),$(call included,$(h))))
rooms_of = $(filter $(ROOMS),$(call helped,$(call helped,$(call included,$(1)))))
EXECUTOR_UNIT := $(patsubst tests/unit/test_%.c,%,\
                   $(shell grep -lE '"tests/unit/(supervisor|actor|requests|in_session)' tests/unit/test_*.c))
UNIT_BIN := $(addprefix $(B)/tests/unit/,$(UNIT))
UNIT_LIBS := -lcmocka $(CARES_LIBS) $(NETLINK_LIBS) $(COMPILER_LIBS) $(CAPS_LIBS) $(VTERM_LIBS) $(IMAGE_LIBS) -lutil

define unit_test
$(B)/tests/unit/$(1): $(B)/host/tests/unit/test_$(1).o \
  $(if $(filter $(1),$(EXECUTOR_UNIT)),$(B)/host/tests/unit/supervisor.o $(B)/host/tests/unit/actor.o) \
  $(call host_rooms,$(call rooms_of,tests/unit/test_$(1)) \
    $(if $(filter $(1),$(EXECUTOR_UNIT)),executor))
endef
$(foreach t,$(UNIT),$(eval $(call unit_test,$(t))))
# The zips of a gateway are libarchive's.
$(addprefix $(B)/tests/unit/,zip_to_tar tar_to_zip): UNIT_LIBS += -larchive
$(addprefix $(B)/fuzz/,zip_to_tar tar_to_zip): IMAGE_LIBS += -larchive
$(UNIT_BIN):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(HOST_EXTRA) $(LINKER) -o $@ $(filter %.o %.a,$^) $(UNIT_LIBS)

$(addprefix $(B)/tests/unit/,openapi serve_confine serve_http serve_job): UNIT_LIBS += -lmicrohttpd -larchive
$(addprefix $(B)/host/tests/unit/test_,openapi.o serve_job.o): UNIT_FLAGS += -Iinclude

$(B)/tests/unit/scope_bus: $(B)/host/sandbox/cgroup/scope_bus.o
$(B)/tests/unit/scope_bus: UNIT_LIBS += -lsystemd

$(B)/tests/unit/memmove: $(MUSL_PARTS)

# The probe runs in any rootfs, so it is static; with glibc, since it is also
# built where only that is.
PROBE_SRC := $(filter-out tests/escape/listener.c,$(wildcard tests/escape/*.c))
$(B)/tests/probe: $(PROBE_SRC) $(wildcard tests/escape/*.h)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -I. -static -o $@ $(PROBE_SRC)

$(B)/tests/listener: tests/escape/listener.c tests/escape/passing.c tests/escape/probe.h
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -I. -static -o $@ $(filter %.c,$^)

# Helpers of the behaviour tests, one file each.
RUN_BIN := $(patsubst tests/run/%.c,$(B)/tests/run/%,$(wildcard tests/run/*.c)) \
           $(B)/tests/run/preload/no_exec.so $(B)/tests/run/preload/hold_digest.so
$(B)/tests/run/%: tests/run/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -I. -static -o $@ $<

# A library for LD_PRELOAD.
$(B)/tests/run/preload/%.so: tests/run/preload/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -shared -fPIC -o $@ $<

# These are made of rooms, and linked as the programs that they are about.
$(B)/tests/run/commands_of: $(B)/host/tests/run/commands_of.o $(call host_rooms,policy)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK)
$(B)/tests/run/archive: $(B)/$(LINK)/tests/run/archive.o $(call linked_rooms,archive)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

$(B)/tests/run/serve_front: HOST_LIBS := -lmicrohttpd -larchive -lcrypto $(CAPS_LIBS)
$(B)/tests/run/serve_front: $(B)/host/tests/run/serve_front.o $(call host_rooms,gateway lib)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK)

$(B)/tests/run/layer: HOST_LIBS := $(IMAGE_LIBS) $(CAPS_LIBS)
$(B)/tests/run/layer: $(B)/host/tests/run/layer.o $(call host_rooms,rootfs-tools/layers)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK)

# libhutch's cases, linked with its archive, like a program of a user; and its example,
# linked with the shared library.
LIB_TESTS := $(B)/tests/lib/cases $(B)/tests/lib/agent $(if $(HOST_EXTRA),,$(B)/tests/lib/threads)
LIB_CASES := $(patsubst %.c,$(B)/pic/%.o,$(wildcard tests/lib/*.c))
$(B)/tests/lib/cases: $(LIB_CASES) $(B)/pic/base/fd_pass.o $(LIB).a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(HOST_EXTRA) $(LINKER) -o $@ $^ -pthread
# The same with ThreadSanitizer, which no other sanitizer goes with.
$(B)/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g1 -fsanitize=thread $(PIC_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/lib/threads: $(patsubst %.c,$(B)/tsan/%.o,$(LIBHUTCH_SRC) $(wildcard tests/lib/*.c))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -fsanitize=thread -o $@ $^ -pthread
$(B)/tests/lib/agent: lib/examples/agent.c include/hutch.h $(LIBS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -Wall -Wextra -Wpedantic -Werror $(HOST_EXTRA) -Iinclude -o $@ $< -L$(B)/lib -lhutch

# The program that uses resources up in the machines of the vm tier.
VM_BIN := $(B)/tests/vm/hog $(B)/tests/vm/xsave.so $(B)/bench/timer $(B)/bench/nothing
$(B)/tests/vm/%.so: tests/vm/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -fPIC -shared -o $@ $<
$(B)/tests/vm/%: tests/vm/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -I. -static -pthread -o $@ $<

# CI=1 makes each warning an error.
JOBS := -j$(shell nproc)
.PHONY: tests units check test nightly foreign-tests
# A build for another processor has those whose libraries sysroot.sh unpacks.
foreign-tests: all $(B)/tests/probe $(B)/tests/listener $(filter-out $(B)/tests/run/layer,$(RUN_BIN))
tests: all $(B)/tests/unit/cgroup $(B)/tests/probe $(B)/tests/listener $(RUN_BIN) $(VM_BIN) \
  $(LIB_TESTS) $(B)/bench/single/hutch
units: $(UNIT_BIN)

check: units
	tests/all.py --build $(B) unit-gcc

.PHONY: lint
lint:
	tests/all.py --build $(B) lint

# Two builds: gcc's, whose behaviour is tested, and clang's with sanitizers, for unit
# tests and fuzzers; so both compilers see each file and must give no warning.  Without -g,
# which changes no code, gcc is a seventh faster.
test: test-deps
	$(MAKE) $(JOBS) CI=1 OPTIMIZE=-O2 tests agents-venv
	$(MAKE) $(JOBS) CI=1 CHECKED=$(B)/checked checked clang-only
	tests/all.py --build $(B) --checked $(B)/checked ci

# The packages of PyPI for tests/run/agents.bats, once for all builds; nothing fails without a network.
.PHONY: agents-venv
agents-venv:
	$(call say,VENV)
	$(Q)mkdir -p $(B) && tests/clients/agents/venv.sh $(B)/agents-venv

# Everything that can be tested here: CONTRIBUTING.md says what that is and how long it takes.
# Where no packages could be made, as without a network, dist-test fails, and the others run.
nightly: $(if $(filter 0,$(shell id -u)),vm-deps engines-deps,test-deps)
	$(MAKE) $(JOBS) CI=1 tests units agents-venv
	$(MAKE) $(JOBS) CI=1 sanitized clang-only
	rm -f $(DIST)/hutch*
	$(if $(filter 0,$(shell id -u)),-$(MAKE) dist)
	tests/all.py --build $(B) --checked $(CHECKED) nightly

# Machines that debootstrap installs once, a minute or two each: the same limits with
# systemd's user manager in user-mode-linux, and several tiers on Debian's own kernel in
# qemu, QEMU_TIERS of them (tests/vm/qemu-root.sh), whose processor is emulated.
# Both need root.
.PHONY: vm-test vm-test-uml vm-test-qemu vm-test-engines
vm-test: vm-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm vm-systemd vm-qemu
vm-test-uml: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm vm-systemd
vm-test-qemu: vm-deps
ifeq ($(CROSS),)
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm-qemu
else
	$(MAKE) dist
	+$(DIST_MAKE) $(JOBS) foreign-tests
	tests/vm/qemu.sh --arch $(ARCH) --build $(DIST_FILES)
endif

# Suites of tests/engines with hutch-oci and hutch-bwrap, and with crun, in the same machine, whose
# cgroups are of version 2; and what tests/run has of these programs, as an ordinary user and as root.
# runtime-tools runs in a second machine, whose cgroups are of version 1.
vm-test-engines: vm-deps engines-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm-engines

# The README's two commands on a fresh Debian, which debootstrap installs once; needs root.
.PHONY: fresh-test
fresh-test: test-deps
	tests/all.py --build $(B) fresh

# The packages of a release on machines without a compiler; needs root.
.PHONY: dist-test
dist-test: dist test-deps
	tests/all.py --build $(B) dist

# Package managers in an image of Debian's, which debootstrap installs once; needs root.
.PHONY: image-test
image-test: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) packages

# Real clients of the network in an image that hutch builds from Debian's packages; needs root.
.PHONY: clients-test
clients-test: test-deps
	$(MAKE) $(JOBS) all
	tests/all.py --build $(B) clients

# Other projects' suites, and container engines, with BWRAP=PROGRAM or RUNTIME=PROGRAM, else with
# bwrap, crun and runc themselves (tests/engines/README.md).  `make engines-test-NAME` runs one.
ENGINES := bubblewrap runtime-tools crun podman containerd slurm kubernetes
.PHONY: engines-test $(ENGINES:%=engines-test-%)
engines-test: $(ENGINES:%=engines-test-%)
$(ENGINES:%=engines-test-%): engines-test-%: engines-deps
	tests/engines/$*/run.sh

# All behaviour as root, where root starts it; `make test` has only root's own cases as root.
.PHONY: root-test
root-test: test-deps
	$(MAKE) $(JOBS) tests agents-venv
	tests/all.py --build $(B) run-root

# All behaviour of the programs with sanitizers.
.PHONY: sanitized-test
sanitized-test: test-deps
	$(MAKE) $(JOBS) tests sanitized
	tests/all.py --build $(B) --checked $(CHECKED) run-sanitized

# Each layer is left out once, in a copy of the tree, and a test has to fail.
.PHONY: layers-test
layers-test: test-deps
	$(MAKE) $(JOBS) tests units
	tests/layers/run.sh --build $(B)

# Random clients at a dozen sandboxes for two hours: `make nightly` has half an hour of it.
.PHONY: soak
soak: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) soak

# ASan and UBSan, by clang, whose objects serve unit tests, fuzzers and programs alike: the same
# sources with glibc and dynamic, since a static program cannot be instrumented.  lld links the
# 290 programs in half the time of GNU ld.
CHECKED  := $(B)/asan
# gcc defines __SANITIZE_ADDRESS__ itself; clang does not.
SANITIZE := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer \
            -D__SANITIZE_ADDRESS__=1
CHECKED_MAKE = $(MAKE) B=$(CHECKED) CC=clang HOST_EXTRA="$(SANITIZE)" FORTIFY= LINK=host LINKER=-fuse-ld=lld
.PHONY: checked sanitized
# "+", since make does not see through a variable that this runs make, which shares the jobs.
# Without optimization clang takes a third of the time for a file, and most unit tests as long
# as with it; the rooms in BUSY are optimized, since tests and fuzzers spend their time there.
# `make test` has that build in a folder of its own, since make does not see other flags.
checked:
	+$(CHECKED_MAKE) OPTIMIZE="-O0 -g1" BUSY="base executor/search executor/terminal policy policy/bash" units fuzz
sanitized:
	+$(CHECKED_MAKE) OPTIMIZE="-O1 -g1" units fuzz tests

# clang's warnings for the sources that are in no room, and for those that only musl has.
MAINS := actions/main.c apptainer/main.c bwrap/main.c cli/main.c docker/main.c egress/egress_main.c \
    executor/main.c gateway/route/main.c mcp/main.c oci/main.c policy/seccomp/main.c rootfs-tools/main.c \
         sandbox/cgroup/scope_main.c sandbox/cgroup/scope_bus.c supervisor/main.c supervisor/pool/main.c
.PHONY: clang-only
clang-only: $(B)/gen/seccomp_texts.h
	$(call say,CLANG)
	$(Q)for f in $(MAINS); do \
	  clang $(BASE_CFLAGS) -fsyntax-only $$f || exit; done
	$(Q)clang $(patsubst $(CC_INCLUDE),$(shell clang -print-resource-dir)/include,$(MUSL_CFLAGS)) \
	  $(BASE_CFLAGS) -fsyntax-only base/malloc.c base/glibc.c base/memmove.c

# libFuzzer targets; each has a committed corpus in tests/fuzz/corpus.  They are linked as unit
# tests are.
FUZZ     := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(addprefix $(B)/fuzz/,$(FUZZ))
.PHONY: fuzz fuzzers
fuzz: $(FUZZ_BIN)
# By hand: build/asan/fuzz/frame tests/fuzz/corpus/frame
fuzzers:
	+$(CHECKED_MAKE) OPTIMIZE="-O1 -g1" fuzz

$(B)/host/lib/%.o $(B)/host/gateway/%.o $(B)/host/mcp/%.o $(B)/host/tests/fuzz/%.o: UNIT_FLAGS += -Iinclude

define fuzzer
$(B)/fuzz/$(1): $(B)/host/tests/fuzz/fuzz_$(1).o $(call host_rooms,$(call rooms_of,tests/fuzz/fuzz_$(1)))
endef
$(foreach t,$(FUZZ),$(eval $(call fuzzer,$(t))))
$(FUZZ_BIN):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(HOST_EXTRA) $(LINKER) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^) $(COMPILER_LIBS) $(CAPS_LIBS) \
	  $(VTERM_LIBS) $(CARES_LIBS) $(IMAGE_LIBS) -pthread

# --- bench -----------------------------------------------------------------

# floor is linked as hutch is, or the ratio would compare two C libraries.
.PHONY: bench bench-guard
BENCH := $(B)/bench/timer $(B)/bench/nothing $(B)/bench/floor $(B)/bench/judge \
         $(B)/bench/relay $(B)/bench/single/hutch $(B)/tests/run/layer
bench: all $(BENCH)
	tests/bench/bench.py --build $(B) $(if $(ONLY),--only $(ONLY)) $(BENCH_FLAGS)

# Two minutes beside a build of the commit BASE (tests/bench/base.sh), which is made once and kept.
bench-guard: all $(B)/bench/timer
	tests/bench/guard.py --build $(B) $(if $(BASE),--base $(BASE))

$(B)/bench/floor: $(B)/musl/tests/bench/floor.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(MUSL_LINK)

# It judges as the launcher does, so it is linked as that is.
$(B)/bench/judge: $(B)/$(LINK)/tests/bench/judge.o $(call linked_rooms,policy)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# hutch with a gate that finds no veth devices, for the other form of a network of rules.
$(B)/bench/single/libexec/hutch-gate: LDHARDEN += -Wl,--wrap=rtnl_link_veth_alloc
$(B)/bench/single/libexec/hutch-gate: $(B)/$(LINK)/tests/bench/no_veth.o
$(B)/bench/single/hutch: $(B)/hutch $(B)/libexec/hutch-executor $(B)/libexec/hutch-egress \
  $(B)/bench/single/libexec/hutch-gate
	$(call say,COPY)
	$(Q)cp $(filter $(B)/libexec/%,$^) $(@D)/libexec/ && cp $< $@

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -static -o $@ $<
