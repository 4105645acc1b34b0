# Strata. `make run` opens the browser on a sample store, `make test` runs every test, `make help` lists all targets.

.DEFAULT_GOAL := run

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
RELEASE = .build/release
# On Linux the program contains the Swift runtime, so it runs on machines without a toolchain, and is linked to a fixed address: loading a
# position-independent program costs 60,000 relocations and 200 page faults at each start. The dynamic symbol table is left out, because
# nothing links against the program. Equal functions become one (nothing compares their addresses), and unused ones are dropped, which
# needs a section for each function. The C++ library, the unwinder and curses are linked statically if their archives are installed:
# resolving 2,000 of their symbols took a third of the time of a short verb. None is looked for beside the program. If the toolchain has
# lld, it leaves out the tables for unwinding, and links in a third of gold's time.
LINK =
ARCHIVES = .build/archives
ifeq ($(shell uname),Linux)
LINK += --static-swift-stdlib --disable-local-rpath -Xlinker -no-pie -Xlinker --no-export-dynamic -Xlinker --icf=all
ifneq ($(wildcard $(shell clang -print-prog-name=ld.lld)),)
LINK += -Xswiftc -use-ld=lld -Xlinker -T$(CURDIR)/Scripts/without-unwinding.ld
endif
LINK += -Xswiftc -Xfrontend -Xswiftc -function-sections
LINK += -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
LINK += -Xswiftc -L$(CURDIR)/$(ARCHIVES)
else
# The system's ncurses is of 2015. Homebrew's is taken where pkg-config knows it; its folder is not among those that are searched.
LINK += $(patsubst %,-Xcc %,$(shell pkg-config --silence-errors --cflags-only-I ncursesw))
LINK += $(patsubst %,-Xlinker %,$(shell pkg-config --silence-errors --libs-only-L ncursesw))
endif

.PHONY: help run build test install uninstall format lint prose clean requirements

# Every target with a text behind `##` is listed, in the order of this file.
help: ## lists the targets
	@sed -nE 's/^([a-z][a-z-]*):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "make %-14s %s\n", $$1, $$2 }'

run: build ## builds the program and opens the browser on the sample store
	@$(RELEASE)/strata demo

build: export STRATA_SMALL = 1
build: requirements $(ARCHIVES) ## builds the program as .build/release/strata
	$(SWIFT) build -c release --product strata $(LINK)

# The linker searches this folder before the system's.
$(ARCHIVES):
	@mkdir -p $@
	@for name in libstdc++.a libncursesw.a libtinfo.a; do \
	  path=$$(clang -print-file-name=$$name) && [ -e "$$path" ] && ln -sf "$$path" $@ || true; \
	done
	@path=$$(clang -print-file-name=libgcc_eh.a) && [ -e "$$path" ] && ln -sf "$$path" $@/libgcc_s.a || true

# Debug builds, with their checks, in which the modules that the tests spend their time in are optimised. The plain debug build, in .build,
# is left to editors.
test: export STRATA_OPTIMIZED = 1
test: requirements ## runs every test; STRATA_PART=StrataEngineTests,… builds and runs those test targets only
	@Scripts/require postgresql
	$(SWIFT) build --build-tests --scratch-path .build/tests
	@bash -o pipefail -c '$(SWIFT) test --skip-build --scratch-path .build/tests 2>&1 | tee .build/test.log; \
	  status=$$?; Scripts/test-report .build/test.log; exit $$status'

SHARE = $(DESTDIR)$(PREFIX)/share

install: build ## installs the program, its manual and its completions below PREFIX (/usr/local), with DESTDIR before it
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/strata $(SHARE)/man/man1 $(SHARE)/man/man5
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(RELEASE)/strata $(DESTDIR)$(PREFIX)/bin/strata
	strip $(DESTDIR)$(PREFIX)/bin/strata
	install -m 644 Sources/StrataAtlas/Resources/* $(SHARE)/strata/
	$(RELEASE)/strata man strata.1 > $(SHARE)/man/man1/strata.1
	$(RELEASE)/strata man strata.5 > $(SHARE)/man/man5/strata.5
	$(RELEASE)/strata completions bash > $(SHARE)/bash-completion/completions/strata
	$(RELEASE)/strata completions zsh > $(SHARE)/zsh/site-functions/_strata
	$(RELEASE)/strata completions fish > $(SHARE)/fish/vendor_completions.d/strata.fish

uninstall: ## removes what `make install` installed below the same PREFIX and DESTDIR
	rm -f $(DESTDIR)$(PREFIX)/bin/strata $(SHARE)/man/man1/strata.1 $(SHARE)/man/man5/strata.5
	rm -f $(SHARE)/bash-completion/completions/strata $(SHARE)/zsh/site-functions/_strata
	rm -f $(SHARE)/fish/vendor_completions.d/strata.fish
	rm -rf $(SHARE)/strata

format: ## formats all sources
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests

lint: ## checks the format of all sources
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests

prose: ## checks the words of documents, comments and messages
	@Scripts/prose

clean: ## removes the build folder
	rm -rf .build

requirements:
	@Scripts/require ncurses libpq

.PHONY: bench bench-browser screenshots matrix

bench: build ## measures the library beside LMDB, SQLite and others, writes Benchmarks/RESULTS.md; needs liblmdb-dev, libsqlite3-dev, sqlite3
	Benchmarks/run

bench-browser: build ## measures the browser on a million records, beside less, tig, VisiData and lnav if installed
	python3 Benchmarks/Browser/measure.py --program $(RELEASE)/strata --results Benchmarks/Browser/RESULTS.md

screenshots: build ## takes the README's pictures from the program
	python3 Screenshots/take.py --program $(RELEASE)/strata

matrix: ## lists each user need and each command with the test that proves it; fails if one has none
	@Tests/matrix

.PHONY: soak cluster filesystems mutation fuzz thread address clients check-apple

# These targets run for long, so they build with optimisation.
CHECKED = -c release -Xswiftc -enable-testing

# Runs random scripts, power cuts, failing calls, flipped bits and kills; then values of 1 GiB, a transaction of 1,000,000 changes and forged
# numbers (two minutes); then 20,000 random events on the program for each of ten seeds (ten minutes); then random walks of exchange, also
# with killed processes. Each part prints its seed. STRATA_SEED=… and STRATA_MONKEY_SEED=… repeat a run.
soak: requirements ## runs the long random tests; STRATA_SOAK=SECONDS for the engine's part (600)
	STRATA_SOAK=$${STRATA_SOAK:-600} $(SWIFT) test $(CHECKED) --scratch-path .build/checked --no-parallel \
	  --filter "SoakTests|StrataEngineTests.MemoryTests|ForgedCountsTests|MonkeyTests"
	STRATA_WALKS=500 $(SWIFT) test $(CHECKED) --scratch-path .build/checked --filter "RandomWalkTests|RandomTableTests"
	for seed in 1 2 3 4 5 6 7 8; do STRATA=$$PWD/.build/checked/release/strata Scripts/exchange-soak $$seed || exit 1; done

# Takes a quarter of an hour. Tests/Cluster/run documents its steps and its options: rounds, writers, and their waiting time.
cluster: build ## kills the leader of three PostgreSQL nodes ten times under 32 writers; every acknowledged commit must be stored
	@Scripts/require postgresql patroni etcd tmux
	Tests/Cluster/run --program $(RELEASE)/strata

filesystems: build ## tries a store on images of ext4, XFS and Btrfs: mapping, syncing, cutting, a full disk; needs root and the mkfs programs
	Scripts/filesystems

# Builds once, then takes up to half a minute for each of about 140 mutations.
mutation: ## removes each sync, rename and check once and requires that a test fails; ONLY=WORD tries the lines with that word
	Tests/Mutation/mutate $(ONLY)

fuzz: ## fuzzes files, nodes, frames, keys and documents for a minute each, with the address sanitizer
	Tests/Fuzz/fuzz 60

# Covers the engine's threads, the typed library's transactions, observers and warm-up, and random events on the program. Reports go to a
# file, because the program's screen would hide them. Tests that use one thread and tests that measure memory are left out. One test is
# left out because its continuation hands an array to a waiting thread, and the sanitizer does not see the order of the runtime's atomics.
RACES = .build/thread/races
thread: requirements ## runs the tests of concurrent code under the thread sanitizer; STRATA_PART=… as for test
	rm -f $(RACES).*
	STRATA_MONKEY=$${STRATA_MONKEY:-1500x1} TSAN_OPTIONS=log_path=$(CURDIR)/$(RACES) \
	  $(SWIFT) test $(CHECKED) --sanitize=thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build/thread \
	  --filter 'StrataEngineTests|CodableDatastoreTests|TerminalTests.MonkeyTests' \
	  --skip 'PowerCutTests|DamageTests|VerifyTests|SalvageTests|CorpusTests|ForgedCountsTests|StrataEngineTests.MemoryTests|BlockingTests/exchanging'; \
	  status=$$?; ! cat $(RACES).* 2>/dev/null && exit $$status

# Values that live as long as the program are not leaks. The test of a stack's depth is left out: the sanitizer keeps variables elsewhere.
address: requirements ## runs engine, library, model, folders and browser under the address sanitizer; STRATA_PART=… as for test
	ASAN_OPTIONS=detect_leaks=0 $(SWIFT) test $(CHECKED) --sanitize=address --scratch-path .build/address \
	  --filter 'StrataEngineTests|StrataDocumentsTests|CodableDatastoreTests|StrataModelTests|StrataFoldersTests|StoreBrowserTests' \
	  --skip 'StrataEngineTests.MemoryTests|RuntimeTests/ringing'

check-apple: ## type-checks the library for Apple's platforms (PLATFORMS='iOS watchOS' for some), and C for Linux on arm64; minutes at first
	Scripts/check-apple $(PLATFORMS)

clients: ## compiles and runs client programs in Swift 5 and 6, with and without NonisolatedNonsendingByDefault, and small apps
	Tests/Clients/run
