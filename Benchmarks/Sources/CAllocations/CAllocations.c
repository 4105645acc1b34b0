#include "CAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static __thread uint64_t count;
static _Atomic uint64_t total;

uint64_t strata_allocations(void) { return count; }
uint64_t strata_allocations_of_all_threads(void) { return atomic_load_explicit(&total, memory_order_relaxed); }

#if defined(__GLIBC__)
static void note(void) {
  count++;
  atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
}

// The program's own names win over the C library's, which are still to be had under these.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  note();
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}

// How the standard library asks for memory that is no object.
int posix_memalign(void **memory, size_t alignment, size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory || !size ? 0 : ENOMEM;
}
#endif
