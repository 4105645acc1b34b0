#ifndef STRATA_CALLOCATIONS_H
#define STRATA_CALLOCATIONS_H

#include <stdint.h>

/// How often the calling thread has asked for memory since it began; 0 where the system's allocator cannot be wrapped.
uint64_t strata_allocations(void);

/// How often all threads together have.
uint64_t strata_allocations_of_all_threads(void);

#endif
