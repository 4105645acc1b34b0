#pragma once

// The client library of PostgreSQL, linked, where the program's start does not pay for it.
#include <libpq-fe.h>

/// Why the library cannot be used.
static inline const char *strata_libpq_failure(void) { return 0; }
