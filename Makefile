# Strata. `make run` opens the browser on a sample store, `make test` runs every test.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
RELEASE = .build/release
# The program carries the Swift runtime in itself, so that it runs where no toolchain is. On Linux it lies where it was linked for:
# to move it took 60,000 relocations and 200 page faults at each start. Nobody looks its 14,000 symbols up, and functions that are the
# same stand in it once, for which each needs a section: then those that nobody calls are left out, too. What it takes of C++ and of
# curses it carries in itself where there are archives of them: to look 2,000 symbols of them up was a third of a short verb.
LINK = --static-swift-stdlib
ARCHIVES = .build/archives
ifeq ($(shell uname),Linux)
LINK += -Xlinker -no-pie -Xlinker --no-export-dynamic -Xlinker --icf=safe -Xswiftc -Xfrontend -Xswiftc -function-sections
LINK += -Xswiftc -L$(CURDIR)/$(ARCHIVES)
endif

.PHONY: run build test install uninstall format lint clean requirements

run: build
	@$(RELEASE)/strata demo

build: requirements $(ARCHIVES)
	$(SWIFT) build -c release --product strata $(LINK)

# A folder that is looked through before the system's.
$(ARCHIVES):
	@mkdir -p $@
	@for name in libstdc++.a libncursesw.a libtinfo.a; do \
	  path=$$(clang -print-file-name=$$name) && [ -e "$$path" ] && ln -sf "$$path" $@ || true; \
	done

test: requirements
	@Scripts/require postgresql
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build

SHARE = $(DESTDIR)$(PREFIX)/share

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/strata $(SHARE)/man/man1 $(SHARE)/man/man5
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(RELEASE)/strata $(DESTDIR)$(PREFIX)/bin/strata
	strip $(DESTDIR)$(PREFIX)/bin/strata
	install -m 644 Sources/Atlas/Resources/* $(SHARE)/strata/
	$(RELEASE)/strata man strata.1 > $(SHARE)/man/man1/strata.1
	$(RELEASE)/strata man strata.5 > $(SHARE)/man/man5/strata.5
	$(RELEASE)/strata completions bash > $(SHARE)/bash-completion/completions/strata
	$(RELEASE)/strata completions zsh > $(SHARE)/zsh/site-functions/_strata
	$(RELEASE)/strata completions fish > $(SHARE)/fish/vendor_completions.d/strata.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/strata $(SHARE)/man/man1/strata.1 $(SHARE)/man/man5/strata.5
	rm -f $(SHARE)/bash-completion/completions/strata $(SHARE)/zsh/site-functions/_strata
	rm -f $(SHARE)/fish/vendor_completions.d/strata.fish
	rm -rf $(SHARE)/strata

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests

lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests

clean:
	rm -rf .build

requirements:
	@Scripts/require ncurses libpq

# Work A of the design beside LMDB and SQLite, the typed library beside the bare coders, and the program's verbs beside sqlite3;
# needs liblmdb-dev, libsqlite3-dev and sqlite3. Writes Benchmarks/RESULTS.md.
.PHONY: bench
bench: build
	Benchmarks/run

.PHONY: screenshots bench-browser matrix

# What users need and every command, each with the test that proves it.
matrix:
	@Tests/matrix

# The pictures of the README, from the real program. Says what it needs.
screenshots: build
	python3 Screenshots/take.py --program $(RELEASE)/strata

# The browser against its budgets on a million records, with less, tig and VisiData beside it where they are installed.
# Writes Benchmarks/Browser/RESULTS.md.
bench-browser: build
	python3 Benchmarks/Browser/measure.py --program $(RELEASE)/strata --results Benchmarks/Browser/RESULTS.md

.PHONY: soak mutation fuzz thread address clients

# All of these build with optimisation: they are about what the code does, and there is much of it to do.
CHECKED = -c release -Xswiftc -enable-testing

# Longer than the ordinary tests. Random scripts, power cuts, failing calls, flipped bits and kills take STRATA_SOAK seconds (600)
# together; then come values of 1 GiB, a transaction of 1,000,000 changes and forged numbers (about two minutes), and 20,000 random
# events for each of ten seeds on the program itself (about ten), and walks of exchange, also with processes that are killed. Prints its seeds; STRATA_SEED=… and STRATA_MONKEY_SEED=… run one
# again.
soak: requirements
	STRATA_SOAK=$${STRATA_SOAK:-600} $(SWIFT) test $(CHECKED) --scratch-path .build/checked --no-parallel \
	  --filter "SoakTests|StorageEngineTests.MemoryTests|ForgedCountsTests|MonkeyTests"
	STRATA_WALKS=500 $(SWIFT) test $(CHECKED) --scratch-path .build/checked --filter RandomWalkTests
	for seed in 1 2 3 4 5 6 7 8; do STRATA=$$PWD/.build/checked/release/strata Scripts/exchange-soak $$seed || exit 1; done

# Leaves out each sync, each rename and each check of a hash once; the tests must notice every time. One build, then about half
# a minute for each of some fifty mutations.
mutation:
	Tests/Mutation/mutate

# A file's bytes, a node's bytes, the parts of frames and keys, a minute each, with the address sanitizer.
fuzz:
	Tests/Fuzz/fuzz 60

# Data races: everything in the engine that has threads, the typed library's transactions, observers and warm-up, and random events
# on the program itself, whose reports would be lost on its screen. What is one thread's work, however much of it, is left to
# `test`, and so is what measures memory, and an array that a continuation hands to a thread that waits: the order which the
# runtime's own atomics make of that is not seen. `STRATA_PART` of Package.swift limits this and `address` to some of the test
# targets.
RACES = .build/thread/races
thread: requirements
	rm -f $(RACES).*
	STRATA_MONKEY=$${STRATA_MONKEY:-1500x1} TSAN_OPTIONS=log_path=$(CURDIR)/$(RACES) \
	  $(SWIFT) test $(CHECKED) --sanitize=thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build/thread \
	  --filter 'StorageEngineTests|CodableDatastoreTests|TerminalTests.MonkeyTests' \
	  --skip 'PowerCutTests|DamageTests|VerifyTests|SalvageTests|CorpusTests|ForgedCountsTests|StorageEngineTests.MemoryTests|BlockingTests/exchanging'; \
	  status=$$?; ! cat $(RACES).* 2>/dev/null && exit $$status

# Memory: the engine, damaged files among them, the typed library, the model, folders and the browser. Values that live as long as the
# program are no leaks.
address: requirements
	ASAN_OPTIONS=detect_leaks=0 $(SWIFT) test $(CHECKED) --sanitize=address --scratch-path .build/address \
	  --filter 'StorageEngineTests|DocumentsTests|CodableDatastoreTests|DatastoreModelTests|FolderStoreTests|StoreBrowserTests' \
	  --skip 'StorageEngineTests.MemoryTests'

# One program as four kinds of client: Swift 5 and 6, with and without NonisolatedNonsendingByDefault.
clients:
	Tests/Clients/run
