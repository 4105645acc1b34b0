#pragma once

// The client library of PostgreSQL, loaded when a store on a server is first opened. Linked, it brings 22 other libraries, and each start of
// the program would pay for them, whatever it does. Homebrew and Debian keep its headers in folders of their own, which need no pkg-config to
// be found.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#elif __has_include("/opt/homebrew/opt/libpq/include/libpq-fe.h")
#include "/opt/homebrew/opt/libpq/include/libpq-fe.h"
#elif __has_include("/usr/local/opt/libpq/include/libpq-fe.h")
#include "/usr/local/opt/libpq/include/libpq-fe.h"
#else
#include <postgresql/libpq-fe.h>
#endif

/// Why the library cannot be used, or NULL where it can. Loads it. Where it cannot be, `PQconnectStartParams` and `PQconndefaults` answer NULL,
/// and no other function may be called, as all take what these answer. Any thread.
const char *strata_libpq_failure(void);
