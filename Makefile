# Strata. `make run` opens the browser on a sample store, `make test` runs every test.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= swift
RELEASE = .build/release
# The program carries the Swift runtime in itself, so that it runs where no toolchain is.
LINK = --static-swift-stdlib

.PHONY: run build test install uninstall format lint clean requirements

run: build
	@$(RELEASE)/strata demo

build: requirements
	$(SWIFT) build -c release --product strata $(LINK)

test: requirements
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build

SHARE = $(DESTDIR)$(PREFIX)/share

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/strata $(SHARE)/man/man1 $(SHARE)/man/man5
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(RELEASE)/strata $(DESTDIR)$(PREFIX)/bin/strata
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
	@Scripts/require-curses

# Work A of the design beside LMDB and SQLite, and the typed library beside the bare coders; needs liblmdb-dev and
# libsqlite3-dev. Writes Benchmarks/RESULTS.md.
.PHONY: bench
bench:
	Benchmarks/run

.PHONY: screenshots bench-browser

# The pictures of the README, from the real program. Says what it needs.
screenshots: build
	python3 Screenshots/take.py --program $(RELEASE)/strata

# The browser against its budgets, with less and others beside it.
bench-browser: build
	python3 Benchmarks/Browser/measure.py --program $(RELEASE)/strata

.PHONY: soak mutation fuzz thread address clients

# Longer than the ordinary tests: random scripts and crash images for ten minutes; prints its seeds.
soak: requirements
	STRATA_SOAK=600 $(SWIFT) test --filter SoakTests

# Leaves out each sync, each rename and each check of a hash once; the tests must notice every time.
mutation:
	Tests/Mutation/mutate

# A file's bytes, a node's bytes and the parts of frames, a minute each.
fuzz:
	Tests/Fuzz/fuzz 60

thread: requirements
	$(SWIFT) test --sanitize=thread --scratch-path .build/thread --filter StorageEngineTests

address: requirements
	$(SWIFT) test --sanitize=address --scratch-path .build/address --filter StorageEngineTests

# One program as four kinds of client: Swift 5 and 6, with and without NonisolatedNonsendingByDefault.
clients:
	Tests/Clients/run
