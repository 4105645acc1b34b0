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

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/strata
	install -m 755 $(RELEASE)/strata $(DESTDIR)$(PREFIX)/bin/strata
	install -m 644 Sources/Atlas/Resources/* $(DESTDIR)$(PREFIX)/share/strata/

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/strata
	rm -rf $(DESTDIR)$(PREFIX)/share/strata

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests

lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests

clean:
	rm -rf .build

requirements:
	@Scripts/require-curses
