// The pipe that ends a wait: signals and other threads write one byte into it.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "CStrataCurses.h"
#include "Shared.h"

static int pipe_ends[2] = {-1, -1};

// Bits that wait to be told. The pipe holds a byte when any are set, so a storm of signals or wakes is one byte.
static _Atomic unsigned pending = 0;

static void post(unsigned bit) {
  if (atomic_fetch_or(&pending, bit) & bit) return;
  char byte = 0;
  while (write(pipe_ends[1], &byte, 1) < 0 && errno == EINTR) {}
}

bool strata_events_open(void) {
  if (pipe_ends[0] >= 0) return true;
  if (pipe(pipe_ends) < 0) return false;
  for (int end = 0; end < 2; end++) {
    fcntl(pipe_ends[end], F_SETFD, FD_CLOEXEC);
    fcntl(pipe_ends[end], F_SETFL, O_NONBLOCK);
  }
  return true;
}

void strata_wake(void) { KEEPING_ERRNO(post(STRATA_WOKEN)); }

// Called by the signal handlers of Signals.c.
void strata_post_signal(int number) {
  switch (number) {
    case SIGWINCH: post(STRATA_RESIZED); break;
    case SIGCONT: post(STRATA_CONTINUED); break;
    case SIGTSTP: post(STRATA_STOP); break;
    case SIGINT: post(STRATA_INTERRUPTED); break;
    case SIGTERM: post(STRATA_TERMINATE); break;
    case SIGHUP: post(STRATA_HANGUP); break;
  }
}

unsigned strata_wait(int input, int milliseconds) {
  struct pollfd waited[2] = {{.fd = pipe_ends[0], .events = POLLIN}, {.fd = input, .events = POLLIN}};
  unsigned found = 0;
  if (poll(waited, 2, milliseconds) > 0) {
    if (waited[1].revents & POLLIN) {
      found |= STRATA_INPUT;
    } else if (waited[1].revents & (POLLHUP | POLLERR | POLLNVAL)) {
      found |= STRATA_INPUT_ENDED;
    }
  }
  char drain[64];
  while (read(pipe_ends[0], drain, sizeof drain) > 0) {}
  return found | atomic_exchange(&pending, 0);
}

long strata_read(int input, uint8_t *bytes, size_t capacity) {
  long count;
  do {
    count = read(input, bytes, capacity);
  } while (count < 0 && errno == EINTR);
  if (count > 0) return count;
  return count < 0 && errno == EAGAIN ? 0 : -1;
}

bool strata_has_input(int input) {
  struct pollfd waited = {.fd = input, .events = POLLIN};
  return poll(&waited, 1, 0) > 0;
}

bool strata_has_events(int input) { return atomic_load(&pending) != 0 || strata_has_input(input); }
