#pragma once

// The client library of PostgreSQL. Debian keeps its headers in a folder of their own, which needs no pkg-config to be found.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif
