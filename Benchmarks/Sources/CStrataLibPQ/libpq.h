#pragma once

// The client library of PostgreSQL, linked, because a client written by hand is measured too. Debian keeps its headers in a folder of their
// own, which needs no pkg-config to be found.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

/// Why the library cannot be used.
static inline const char *strata_libpq_failure(void) { return 0; }
