# hutch: one Makefile, sources listed, no configure step.
#
#	make		build/hutch and build/libexec/*
#	make demo	packages for a build, the build, and a minute of hutch at work
#	make test	packages for tests, the build, each test once
#	make fresh-test	both of these on a fresh Debian
#	make nightly	all tests in every form, and the long ones
#	make check	unit tests only
#	make vm-test	in machines of their own: limits where systemd delegates, and
#			what Debian's kernel has (vm-test-uml, vm-test-qemu)
#	make image-test	package managers in an image of Debian's
#	make bench	against the kernel's own price and other tools
#	make install	PREFIX=/usr/local, DESTDIR=, APPARMOR=auto|yes|no
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
ARCH    := $(shell uname -m)
MULTIARCH := $(ARCH)-linux-gnu

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# --- sources ---------------------------------------------------------------

ARCHIVE  := content entries inodes layer pack pack_output place roll site tar trail unpack
BASE     := account action action_errand await base64 buffer conduit err frame io keys list mask message pass path resolve \
            quote utf8 variables visible way
STORE    := digest folders ledger ledger_check ledger_walk links lock names recipe reference sha256 store tree
POLICY   := ansi_c answer bpf_eval commands commands_here commands_run commands_word environment isolation json like policy protect quantity \
            publish rules settings settings_print syscalls volume
SECCOMP  := bpf compile floor json json_scan json_string profile profile_fit
SANDBOX  := accounts audit audit_policy begin beside caller caps cgroup cgroup_limits channel checks copied countdown cow cow_mount definition delegate deputy deputy_bind deputy_caller \
            deputy_calls deputy_inside deputy_open deputy_place diagnose fence fs fuse \
            fuse_server grants guest identity idmap image image_tool jail janitor keeper landlock launch learn learn_later learn_out learn_paths learn_tell learn_write level limits listener lookup lookup_place lowers missing mounts network note overlay plan \
            plan_print plan_rlimits pools ports probes probes_cgroup probes_user program protected pump refusals refusals_tell registry \
            registry_end registry_look registry_name registry_watch result rlimits rung scope seccomp seccomp_cache \
            seccomp_compiler sentry shelf sockets spawn stdio stock supervise target terminal trace traced \
            upper view volumes walls watchdog why why_exec why_refused
ACT      := action action_errand action_git answers args complaint desk desk_audit desk_env desk_frame desk_judge \
            desk_start held lines observe observe_errand observe_git outbox outlet put queue setting split \
            split_expand split_grammar split_token split_word stream veil
CONTROL  := again call capture clients clocks confine events jobs journal kept lease log methods methods_exec methods_port methods_start methods_update methods_user \
            order outputs outputs_tell peer records rpc samples still supervisor wire
POOL     := maker pace pool takers
CLI      := arena doctor given main option_table options party past report run
VERBS    := apply audit audit_show belt bridge client courier cp diff each events exec flags gather hearing inspect landing logs \
            parts past_root patch policy pool pool_client port porter ps reply rm stats steer stream table unified update why
EXECUTOR := caps cgroup channel copy dials diff display edit editor editor_change \
            editor_file editor_say editor_view emulator encoding ending entry errand \
            errand_account errand_change errand_changes errand_git errand_grep errand_list errand_repository \
            errands everyone excerpt executor \
             files finds freezer git glob grep grep_paths grep_tree halt history lint lints listing \
            main matcher name needle pattern pattern_bracket pattern_rust processes \
            program relay replies requests ripgrep row runes screen screen_control \
            screen_draw script scrollback seize sequence session session_action \
            session_output sessions sheet shell shell_inner shell_rc spawn tape terminal text told tree \
            user walk workers

ROOTFS   := main
ROOTFS   += apart blobs config document hash images images_make index library source
ROOTFS   += import import_layout import_root
ROOTFS   += census collect count export inspect ls quota quota_verb rm sink snapshot snapshot_main tag verify
ROOTFS   += gunzip inflate layers sluice
ROOTFS   += ranged ranged_main replica replica_main
ROOTFS   += challenge credentials crew fetch helper http mirrors progress pull remote token
# The modules of rootfs-tools that the launcher has too.
PAST     := apply changes delta ground guarded obstacle reader repository tell
# The modules of hutch image build.
BUILDER  := base_image build build_cache build_main copy_step copying dockerfile \
            dockerfile_lines expand ignore image_config merged placing run_step \
            runtime_main runtime_tags source_hash sources stages steps

UNIT     := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))

src = $(addprefix $(1)/,$(addsuffix .c,$(2)))
HUTCH_SRC    := $(call src,base,$(BASE)) $(call src,archive,$(ARCHIVE)) $(call src,store,$(STORE)) $(call src,policy,$(POLICY)) \
                $(call src,sandbox,$(SANDBOX)) $(call src,sandbox/cli,$(CLI) $(VERBS)) \
                $(call src,rootfs-tools,$(PAST)) $(call src,policy,json_scan json_string)
SCOPE_SRC    := scope/main.c
EXECUTOR_SRC := $(call src,base,$(BASE)) $(call src,archive,$(ARCHIVE)) \
                $(call src,executor,$(EXECUTOR))
ACT_SRC      := $(filter-out sandbox/cli/main.c sandbox/cli/run.c sandbox/cli/arena.c \
                sandbox/cli/doctor.c $(call src,sandbox/cli,$(VERBS)),$(HUTCH_SRC)) \
                $(call src,sandbox/act,$(ACT) main)
SUPERVISE_SRC := $(filter-out sandbox/act/main.c,$(ACT_SRC)) \
                $(call src,sandbox/control,$(CONTROL) main)
POOL_SRC     := $(filter-out sandbox/act/main.c,$(ACT_SRC)) \
                $(call src,sandbox/control,events peer rpc wire) sandbox/cli/reply.c \
                $(call src,sandbox/pool,$(POOL) main)
# hutch-image: the launcher's modules except its verbs, and hutch-image's own.
IMAGE_SRC    := $(filter-out sandbox/cli/main.c sandbox/cli/run.c sandbox/cli/arena.c \
                sandbox/cli/doctor.c,$(HUTCH_SRC)) \
                $(call src,rootfs-tools,$(ROOTFS) $(BUILDER))
COMPILER_SRC := $(call src,base,$(BASE)) $(call src,policy,$(SECCOMP) answer seccomp_main seccomp_why)
# libhutch, and the other modules in it; their names are hidden from programs.
LIBHUTCH := asking call draft fault handle helper inlet members opening outlet remove request run turn way
LIBHUTCH_SRC := $(call src,lib,$(LIBHUTCH)) $(call src,base,base64 err list pass utf8) \
                $(call src,policy,json_scan json_string) store/folders.c sandbox/registry_name.c sandbox/cli/reply.c

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
# The terminal library is in the executor, and in programs linked with its parts.
VTERM_LIBS    := -Wl,-Bstatic -lvterm -Wl,-Bdynamic
# glibc's; musl has no such checks.
FORTIFY ?= -D_FORTIFY_SOURCE=2
LDHARDEN := -Wl,-z,relro,-z,now,-z,noexecstack

# hutch, hutch-act, hutch-executor, hutch-pool and hutch-supervise are static with
# musl.  A sandbox starts up to three of them, so what the C library does before
# main() counts: glibc's start-up executes some forty cpuid instructions, each of
# which traps to the hypervisor of a virtual machine (docs/speed.md).  musl's does not.
# Debian's musl-tools has it; its compiler wrapper cannot make a static PIE, so
# its parts are named here.
MUSL     := /usr/lib/$(ARCH)-linux-musl
ifneq (,$(findstring clang,$(CC)))
CC_INCLUDE = $(shell $(CC) -print-resource-dir)/include
else
CC_INCLUDE = $(shell $(CC) -print-file-name=include)
endif
MUSL_CFLAGS = -nostdinc -isystem /usr/include/$(ARCH)-linux-musl -isystem $(CC_INCLUDE) \
              -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)
MUSL_LINK   = $(CC) -nostdlib -static-pie $(LDHARDEN) -Wl,--gc-sections -o $@ \
              $(MUSL)/rcrt1.o $(MUSL)/crti.o $(filter %.o,$^) $(MUSL_LIBS) -L$(MUSL) -lc \
              $$($(CC) -print-libgcc-file-name) $(MUSL)/crtn.o

# --- programs --------------------------------------------------------------

PROGRAMS := $(B)/hutch $(addprefix $(B)/libexec/hutch-,act executor image pool scope seccomp supervise)

# V=1 shows each command.
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@printf '  %-5s %s\n' $(1) $@)

LIB      := $(B)/lib/libhutch
LIBS     := $(LIB).so.0 $(LIB).so $(LIB).a

.PHONY: all
all: $(PROGRAMS) $(LIBS)

musl_obj = $(patsubst %.c,$(B)/musl/%.o,$(1))
host_obj = $(patsubst %.c,$(B)/host/%.o,$(1))

# LINK=host: with the host's C library and dynamic, for sanitizers.
LINK ?= musl
HOST_LINK = $(CC) -pie $(LDHARDEN) $(HOST_EXTRA) -o $@ $(filter %.o,$^) $(HOST_LIBS)
LINK_IT   = $(if $(filter host,$(LINK)),$(HOST_LINK),$(MUSL_LINK))
# musl has a memmove of its own for each processor; that of this one is slow (memmove.c).
MEMMOVE := $(if $(filter x86_64,$(ARCH)),$(B)/musl/base/memmove.o)
linked   = $(call $(LINK)_obj,$(1)) $(if $(filter musl,$(LINK)),$(MEMMOVE))

$(B)/hutch: $(call linked,$(HUTCH_SRC)) \
  $(if $(filter musl,$(LINK)),$(B)/musl/sandbox/cli/malloc.o,$(B)/host/tests/short_lived.o)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# Debian's libvterm.a is made for glibc, whose checked functions glibc.c has; by its
# path, since musl must find none of the other libraries that are beside it.
$(B)/libexec/hutch-executor: MUSL_LIBS := /usr/lib/$(MULTIARCH)/libvterm.a
$(B)/libexec/hutch-executor: HOST_LIBS := $(VTERM_LIBS)
$(B)/libexec/hutch-executor: $(call linked,$(EXECUTOR_SRC)) $(if $(filter musl,$(LINK)),$(B)/musl/executor/glibc.o)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

$(B)/libexec/hutch-seccomp: $(call host_obj,$(COMPILER_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK) $(COMPILER_LIBS)

$(B)/libexec/hutch-act: $(call linked,$(ACT_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

$(B)/libexec/hutch-supervise: $(call linked,$(SUPERVISE_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

$(B)/libexec/hutch-pool: $(call linked,$(POOL_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# The library has only those functions of other parts of hutch that it calls: none of
# them aborts when memory is out (tests/run/library.bats).
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
	  -Wl,--version-script=lib/libhutch.map $(HOST_EXTRA) -o $@ $(filter %.o,$^) -pthread
$(LIB).so: $(LIB).so.0
	$(Q)ln -sf $(<F) $@

# One object, in which all names except the header's are local.
$(LIB).a: $(LIBHUTCH_OBJ)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)ld -r -o $(B)/pic/libhutch.o $(filter %.o,$^)
	$(Q)objcopy --localize-hidden $(B)/pic/libhutch.o
	$(Q)rm -f $@ && ar rcsD $@ $(B)/pic/libhutch.o

# libcurl, libarchive and libisal are loaded when they are needed (rootfs-tools/library.h).
IMAGE_LIBS := -lcrypto
$(B)/libexec/hutch-image: $(call host_obj,$(IMAGE_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK) $(IMAGE_LIBS)

$(B)/libexec/hutch-scope: $(call host_obj,$(SCOPE_SRC))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK) -lsystemd

# The default filter is an array, made when hutch is built, and so are the floor
# alone, the supervisor's own and the jail's.  The other architecture's is compiled
# too, so that neither is broken unseen.
GEN := $(addprefix $(B)/gen/seccomp_,default.h floor.h pretend.h rung.h rung_offline.h \
         rung_online.h rung_early.h)
GEN_SUPERVISOR := $(B)/gen/seccomp_supervisor.h
GEN_JAIL := $(B)/gen/seccomp_jail.h
GEN_DEPUTY := $(B)/gen/seccomp_deputy.h
$(B)/gen/seccomp_%.h: policy/seccomp/%.json $(B)/libexec/hutch-seccomp
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(B)/libexec/hutch-seccomp compile --arch x86_64 < $< > /dev/null
	$(Q)$(B)/libexec/hutch-seccomp compile --arch aarch64 < $< > /dev/null
	$(Q)$(B)/libexec/hutch-seccomp compile --arch $(ARCH) --c-array < $< > $@

# Names of system calls by their numbers, for the launcher, which links no libseccomp.
GEN_SYSCALLS := $(B)/gen/syscalls.h
$(GEN_SYSCALLS): $(B)/libexec/hutch-seccomp
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$< names --arch $(ARCH) > $@
$(B)/musl/policy/syscalls.o $(B)/host/policy/syscalls.o: $(GEN_SYSCALLS)

# The policies that hutch has, as C strings, in the order of their names.
PROFILES := $(sort $(wildcard policy/profiles/*.json))
AS_STRINGS = for p in $^; do \
	  echo "{ \"$$(basename $$p .json)\","; \
	  sed -e 's/[\\"]/\\&/g' -e 's/^/"/; s/$$/\\n"/' $$p; echo "},"; \
	done > $@
$(B)/gen/profiles.h: $(PROFILES)
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(AS_STRINGS)
$(B)/gen/seccomp_texts.h: policy/seccomp/default.json policy/seccomp/pretend.json
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(AS_STRINGS)
$(B)/host/policy/seccomp_main.o: $(B)/gen/seccomp_texts.h
$(B)/musl/policy/settings.o $(B)/host/policy/settings.o: $(B)/gen/profiles.h

$(B)/musl/sandbox/seccomp.o $(B)/host/sandbox/seccomp.o: $(GEN)
$(B)/musl/sandbox/control/confine.o $(B)/host/sandbox/control/confine.o: $(GEN_SUPERVISOR)
$(B)/musl/sandbox/jail.o $(B)/host/sandbox/jail.o: $(GEN_JAIL)
$(B)/musl/sandbox/deputy.o $(B)/host/sandbox/deputy.o: $(GEN_DEPUTY)

# Otherwise the compiler would turn the loops of these functions into calls of themselves.
$(B)/musl/base/memmove.o: MUSL_CFLAGS += -fno-builtin \
  $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)
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

-include $(shell test -d $(B) && find $(B) -name '*.d')

.PHONY: clean
clean:
	rm -rf $(B)

# --- packages --------------------------------------------------------------

# Names of Debian 12: what a build and an installation need, what the demo runs besides, and
# what only tests need.  A package that is installed is not requested again; if all
# are, root is not needed.
BUILD_DEPS := gcc libc6-dev musl-tools libarchive-dev libisal-dev libcurl4-openssl-dev libssl-dev \
        libseccomp-dev libsystemd-dev libvterm-dev go-md2man
DEMO_DEPS  := $(BUILD_DEPS) python3
TEST_DEPS  := $(DEMO_DEPS) libcmocka-dev clang libclang-rt-14-dev ripgrep pyflakes3 bats bubblewrap \
        uidmap git procps util-linux bsdutils groff-base strace user-mode-linux kmod debootstrap \
        btrfs-progs e2fsprogs vim less curl docker-registry skopeo umoci busybox-static \
        fuse-overlayfs attr zstd xz-utils apparmor openssl ca-certificates libcap2-bin patch
.PHONY: deps demo-deps test-deps vm-deps
deps: NEEDED = $(BUILD_DEPS)
demo-deps: NEEDED = $(DEMO_DEPS)
test-deps: NEEDED = $(TEST_DEPS)
vm-deps: NEEDED = $(TEST_DEPS) qemu-system-x86
deps demo-deps test-deps vm-deps:
	@command -v dpkg-query >/dev/null || { \
	  echo "make $@ knows Debian's packages only; needed are the counterparts of:" \
	    "$(NEEDED)" >&2; exit 1; }; \
	missing=; for p in $(NEEDED); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || \
	    missing="$$missing $$p"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	line="apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$$missing"; \
	if [ "$$(id -u)" = 0 ]; then sh -c "$$line"; \
	elif command -v sudo >/dev/null; then echo "sudo: $$line"; sudo sh -c "$$line"; \
	else echo "as root: $$line" >&2; exit 1; fi

# Missing packages are named before the build, not by the first of many errors.
HEADERS := archive.h curl/curl.h isa-l/igzip_lib.h openssl/evp.h seccomp.h systemd/sd-bus.h vterm.h
$(B)/headers:
	@mkdir -p $(@D); missing=; \
	command -v $(firstword $(CC)) >/dev/null || missing=" $(firstword $(CC))"; \
	[ -n "$$missing" ] || for h in stdio.h $(HEADERS); do \
	  echo "#include <$$h>" | $(CC) -E -x c -o /dev/null - 2>/dev/null || missing="$$missing $$h"; \
	done; \
	[ -e $(MUSL)/libc.a ] || missing="$$missing musl"; \
	[ -z "$$missing" ] || { echo "not found, and needed to build hutch:$$missing" >&2; \
	  echo "make deps installs it on Debian; as root: apt-get install --no-install-recommends $(BUILD_DEPS)" >&2; \
	  exit 1; }; \
	: >$@

# --- man pages, installation, demo -----------------------------------------

MAN := $(addprefix $(B)/man/man1/,hutch.1 hutch-act.1 hutch-audit.1 hutch-cp.1 hutch-create.1 hutch-diff.1 hutch-doctor.1 hutch-image.1 \
         hutch-policy.1 hutch-pool.1 hutch-port.1 hutch-run.1 hutch-sandboxes.1 hutch-snapshot.1 hutch-why.1)
MAN3 := $(B)/man/man3/libhutch.3
.PHONY: man
man: $(MAN) $(MAN3)
$(B)/man/man3/%.3: docs/%.md docs/man.awk
	@mkdir -p $(@D)
	$(call say,MAN)
	$(Q)awk -v name=$* -v section=3 -v version=$(VERSION) -f docs/man.awk $< | go-md2man > $@
$(B)/man/man1/%.1: docs/%.md docs/man.awk
	@mkdir -p $(@D)
	$(call say,MAN)
	$(Q)awk -v name=$* -v version=$(VERSION) -f docs/man.awk $< | go-md2man > $@

.PHONY: install
install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hutch \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/hutch/seccomp \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 755 $(B)/hutch $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(filter $(B)/libexec/%,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/libexec/hutch
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(MAN3) $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 include/hutch.h $(DESTDIR)$(PREFIX)/include
	install -m 755 $(LIB).so.0 $(DESTDIR)$(PREFIX)/lib
	ln -sf libhutch.so.0 $(DESTDIR)$(PREFIX)/lib/libhutch.so
	install -m 644 $(LIB).a $(DESTDIR)$(PREFIX)/lib
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' lib/hutch.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/hutch.pc
	install -m 644 policy/seccomp/default.json $(DESTDIR)$(PREFIX)/share/hutch/seccomp
	install -m 644 completions/hutch.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hutch
	@packaging/apparmor/install.sh '$(APPARMOR)' '$(DESTDIR)' '$(PREFIX)'

.PHONY: demo
demo: demo-deps
	@+demo/build.sh $(MAKE) -j$(shell nproc) all
	@demo/demo.sh $(B)/hutch

# --- tests -----------------------------------------------------------------

# The two sides use some names twice (channel, terminal, caps), so a unit test
# is linked with one of them: the executor's if it includes a header of it.
SIDE_SRC := $(filter-out sandbox/cli/main.c,$(HUTCH_SRC)) \
            $(filter-out sandbox/control/main.c,$(SUPERVISE_SRC)) \
            $(filter-out sandbox/pool/main.c,$(POOL_SRC)) \
            $(filter-out policy/seccomp_main.c,$(COMPILER_SRC))
LIB_OBJ  := $(sort $(call host_obj,$(SIDE_SRC)))
EXECUTOR_OBJ := $(call host_obj,$(filter-out executor/main.c,$(EXECUTOR_SRC)))
EXECUTOR_UNIT := $(patsubst tests/unit/test_%.c,%,\
                   $(shell grep -lE '"(executor|tests/unit/(supervisor|actor|requests))' tests/unit/test_*.c))
UNIT_BIN := $(addprefix $(B)/tests/unit/,$(UNIT))

# A test that includes a header of hutch-image is linked with its modules and libraries, too.
IMAGE_OBJ := $(sort $(call host_obj,$(filter-out rootfs-tools/main.c,$(IMAGE_SRC))))
IMAGE_UNIT := $(patsubst tests/unit/test_%.c,%,\
                $(shell grep -l '"rootfs-tools/' tests/unit/test_*.c))

# The linker takes from an archive only the members that a test uses.
UNIT_LINK = $(CC) $(HOST_EXTRA) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(COMPILER_LIBS) -lutil
$(B)/host/side.a: $(LIB_OBJ)
$(B)/host/image.a: $(IMAGE_OBJ)
$(B)/host/executor.a: $(EXECUTOR_OBJ)
$(B)/%.a:
	$(call say,AR)
	$(Q)rm -f $@ && ar rcsTD $@ $^

$(addprefix $(B)/tests/unit/,$(IMAGE_UNIT)): $(B)/tests/unit/%: \
  $(B)/host/tests/unit/test_%.o $(B)/host/image.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(UNIT_LINK) $(IMAGE_LIBS)

$(addprefix $(B)/tests/unit/,$(EXECUTOR_UNIT)): $(B)/tests/unit/%: \
  $(B)/host/tests/unit/test_%.o $(B)/host/tests/unit/supervisor.o \
  $(B)/host/tests/unit/actor.o $(B)/host/executor.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(UNIT_LINK) $(VTERM_LIBS)

$(addprefix $(B)/tests/unit/,$(filter-out $(EXECUTOR_UNIT) $(IMAGE_UNIT) cgroup,$(UNIT))): $(B)/tests/unit/%: \
  $(B)/host/tests/unit/test_%.o $(B)/host/side.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(UNIT_LINK)

# The machines of the vm tier run this one without sanitizers, and hutch-image is made of
# the same objects.
$(B)/tests/unit/cgroup: $(B)/host/tests/unit/test_cgroup.o $(B)/host/image.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(UNIT_LINK) $(IMAGE_LIBS)

$(B)/tests/unit/memmove: $(if $(filter musl,$(LINK)),$(MEMMOVE))

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
RUN_BIN := $(patsubst tests/run/%.c,$(B)/tests/run/%,$(wildcard tests/run/*.c))
$(B)/tests/run/%: tests/run/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -I. -static -o $@ $<

# The program has the launcher's own parts, so it is linked like the launcher.
$(B)/tests/run/archive: $(call $(LINK)_obj,tests/run/archive.c $(call src,archive,$(ARCHIVE)) \
                          $(call src,base,$(BASE)))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# hutch with walls that can be left out: tests/run/walls.bats leaves each out and expects a
# test to fail.  It is never installed.
$(B)/hutch-lame: $(filter-out %/sandbox/walls.o,$(call $(LINK)_obj,$(HUTCH_SRC))) \
  $(call $(LINK)_obj,tests/walls.c) \
  $(if $(filter musl,$(LINK)),$(B)/musl/sandbox/cli/malloc.o,$(B)/host/tests/short_lived.o)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

# This helper is linked with hutch-image's parts.
$(B)/tests/run/layer: $(B)/host/tests/run/layer.o $(IMAGE_OBJ)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(HOST_LINK) $(IMAGE_LIBS)

# libhutch's cases, linked with its archive, like a program of a user; and its example,
# linked with the shared library.
LIB_TESTS := $(B)/tests/lib/cases $(B)/tests/lib/agent $(if $(HOST_EXTRA),,$(B)/tests/lib/threads)
LIB_CASES := $(patsubst %.c,$(B)/pic/%.o,$(wildcard tests/lib/*.c))
$(B)/tests/lib/cases: $(LIB_CASES) $(B)/pic/base/pass.o $(LIB).a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(HOST_EXTRA) -o $@ $^ -pthread
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
.PHONY: tests units check test nightly
tests: all $(B)/tests/unit/cgroup $(B)/tests/probe $(B)/tests/listener $(RUN_BIN) $(VM_BIN) \
  $(B)/hutch-lame $(LIB_TESTS)
units: $(UNIT_BIN)

check: units
	tests/all.py --build $(B) unit-gcc

# Two builds: gcc's, whose behaviour is tested, and clang's with sanitizers, for unit
# tests and fuzzers; so both compilers see each file and must give no warning.  Without -g,
# which changes no code, gcc is a seventh faster.
test: test-deps
	$(MAKE) $(JOBS) CI=1 OPTIMIZE=-O2 tests
	$(MAKE) $(JOBS) CI=1 checked clang-only
	tests/all.py --build $(B) --checked $(CHECKED) ci

# Everything that can be tested here: CONTRIBUTING.md says what that is and how long it takes.
nightly: $(if $(filter 0,$(shell id -u)),vm-deps,test-deps)
	$(MAKE) $(JOBS) CI=1 tests units
	$(MAKE) $(JOBS) CI=1 sanitized clang-only
	tests/all.py --build $(B) --checked $(CHECKED) nightly

# Machines that debootstrap installs once, a minute or two each: the same limits with
# systemd's user manager in user-mode-linux, and several tiers on Debian's own kernel in
# qemu, QEMU_TIERS of them (tests/vm/qemu-root.sh), whose processor is emulated.
# Both need root.
.PHONY: vm-test vm-test-uml vm-test-qemu
vm-test: vm-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm vm-systemd vm-qemu
vm-test-uml: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm vm-systemd
vm-test-qemu: vm-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) vm-qemu

# The README's two commands on a fresh Debian, which debootstrap installs once; needs root.
.PHONY: fresh-test
fresh-test: test-deps
	tests/all.py --build $(B) fresh

# Package managers in an image of Debian's, which debootstrap installs once; needs root.
.PHONY: image-test
image-test: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) packages

# All behaviour as root, where root starts it; `make test` has only root's own cases as root.
.PHONY: root-test
root-test: test-deps
	$(MAKE) $(JOBS) tests
	tests/all.py --build $(B) run-root

# All behaviour of the programs with sanitizers.
.PHONY: sanitized-test
sanitized-test: test-deps
	$(MAKE) $(JOBS) tests sanitized
	tests/all.py --build $(B) --checked $(CHECKED) run-sanitized

# Each wall is left out once, in a copy of the tree, and a test has to fail.
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
# sources with glibc and dynamic, since a static program cannot be instrumented.
CHECKED  := $(B)/asan
# gcc defines __SANITIZE_ADDRESS__ itself; clang does not.
SANITIZE := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer \
            -D__SANITIZE_ADDRESS__=1
CHECKED_MAKE = $(MAKE) B=$(CHECKED) CC=clang HOST_EXTRA="$(SANITIZE)" OPTIMIZE="-O1 -g1" FORTIFY= LINK=host
.PHONY: checked sanitized
# "+", since make does not see through a variable that this runs make, which shares the jobs.
checked:
	+$(CHECKED_MAKE) units fuzz
sanitized:
	+$(CHECKED_MAKE) units fuzz tests

# clang's warnings for the sources that are in no object of the build with sanitizers.
CLANG_ONLY := $(filter-out $(SIDE_SRC) $(IMAGE_SRC) $(EXECUTOR_SRC) $(LIBHUTCH_SRC),\
                $(sort $(HUTCH_SRC) $(ACT_SRC) $(SUPERVISE_SRC) $(POOL_SRC) $(COMPILER_SRC) $(SCOPE_SRC))) \
              $(addprefix rootfs-tools/,main.c) executor/main.c
.PHONY: clang-only
clang-only: $(GEN) $(B)/gen/seccomp_texts.h
	$(call say,CLANG)
	$(Q)for f in $(CLANG_ONLY); do \
	  clang $(BASE_CFLAGS) -fsyntax-only $$f || exit; done
	$(Q)clang $(patsubst $(CC_INCLUDE),$(shell clang -print-resource-dir)/include,$(MUSL_CFLAGS)) \
	  $(BASE_CFLAGS) -fsyntax-only sandbox/cli/malloc.c executor/glibc.c base/memmove.c

# libFuzzer targets; each has a committed corpus in tests/fuzz/corpus.  They are linked with the
# archives of the unit tests in the build with sanitizers.
FUZZ     := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(addprefix $(B)/fuzz/,$(FUZZ))
.PHONY: fuzz fuzzers
fuzz: $(FUZZ_BIN)
# By hand: build/asan/fuzz/frame tests/fuzz/corpus/frame
fuzzers:
	+$(CHECKED_MAKE) fuzz

$(B)/host/lib/%.o $(B)/host/tests/fuzz/%.o: UNIT_FLAGS += -Iinclude

fuzz_of      = $(patsubst tests/fuzz/fuzz_%.c,%,$(shell grep -l '"$(1)/' tests/fuzz/fuzz_*.c))
LIB_FUZZ      := $(call fuzz_of,lib)
EXECUTOR_FUZZ := $(call fuzz_of,executor)
IMAGE_FUZZ    := $(call fuzz_of,rootfs-tools)
SIDE_FUZZ     := $(filter-out $(LIB_FUZZ) $(EXECUTOR_FUZZ) $(IMAGE_FUZZ),$(FUZZ))
$(B)/host/libhutch.a: $(call host_obj,$(LIBHUTCH_SRC))
fuzz_bin      = $(addprefix $(B)/fuzz/,$(1))
$(call fuzz_bin,$(LIB_FUZZ)): $(B)/host/libhutch.a
$(call fuzz_bin,$(LIB_FUZZ)): FUZZ_LIBS := -pthread
$(call fuzz_bin,$(EXECUTOR_FUZZ)): $(B)/host/executor.a
$(call fuzz_bin,$(EXECUTOR_FUZZ)): FUZZ_LIBS := $(VTERM_LIBS)
$(call fuzz_bin,$(IMAGE_FUZZ)): $(B)/host/image.a
$(call fuzz_bin,$(IMAGE_FUZZ)): FUZZ_LIBS := $(IMAGE_LIBS)
$(call fuzz_bin,$(SIDE_FUZZ)): $(B)/host/side.a
$(call fuzz_bin,$(SIDE_FUZZ)): FUZZ_LIBS := $(COMPILER_LIBS)
$(FUZZ_BIN): $(B)/fuzz/%: $(B)/host/tests/fuzz/fuzz_%.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(HOST_EXTRA) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) $(FUZZ_LIBS)

# --- bench -----------------------------------------------------------------

# floor is linked as hutch is, or the ratio would compare two C libraries.
.PHONY: bench
BENCH := $(B)/bench/timer $(B)/bench/nothing $(B)/bench/floor $(B)/bench/judge \
         $(B)/tests/run/layer
bench: all $(BENCH)
	tests/bench/bench.py --build $(B) $(BENCH_FLAGS)

$(B)/bench/floor: $(call musl_obj,tests/bench/floor.c)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(MUSL_LINK)
$(B)/musl/tests/bench/floor.o: $(GEN)

# The program has the launcher's own parts, so it is linked like the launcher.
$(B)/bench/judge: $(call $(LINK)_obj,tests/bench/judge.c $(call src,base,$(BASE)) \
                    $(call src,policy,ansi_c commands commands_here commands_run commands_word \
                    json json_scan json_string like protect quantity rules))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK_IT)

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=gnu11 -O2 -D_GNU_SOURCE $(WARN) -static -o $@ $<
