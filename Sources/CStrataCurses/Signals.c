// Signals of a full-screen program.
//
//   told to the loop            SIGWINCH SIGCONT SIGTSTP SIGINT
//   told, then enforced         SIGTERM SIGHUP    two seconds to say goodbye, then they kill
//   restore the terminal, die   SIGILL SIGTRAP SIGSEGV SIGBUS SIGFPE SIGABRT SIGSYS SIGQUIT SIGXCPU SIGUSR1 SIGUSR2
//
// Former handlers, such as Swift's backtracer, run after the restore, on a screen where they can be read.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "CStrataCurses.h"
#include "Shared.h"

void strata_post_signal(int number);

static const int told[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP};
static const int deadly[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT,
                             SIGSYS, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2};
enum { TOLD = sizeof told / sizeof *told, DEADLY = sizeof deadly / sizeof *deadly };

static struct sigaction before_told[TOLD], before_deadly[DEADLY], before_alarm;
static volatile sig_atomic_t asked_to_end = 0;
static bool caught = false;

// Runs the former handler, a backtracer for example, with what really happened, and then makes sure of the end.
static void crashed(int number, siginfo_t *info, void *context) {
  strata_restore_in_handler();
  for (int index = 0; index < DEADLY; index++) {
    if (deadly[index] != number) continue;
    const struct sigaction *former = &before_deadly[index];
    if (former->sa_flags & SA_SIGINFO) {
      former->sa_sigaction(number, info, context);
    } else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
      former->sa_handler(number);
    }
  }
  signal(number, SIG_DFL);
  // A fault repeats by itself when the handler returns; what was sent, a trap that was stepped over, and a limit do not.
  bool was_sent = info == NULL || info->si_code <= 0;
  if (was_sent || number == SIGTRAP || number == SIGXCPU) raise(number);
}

static void unblock(int number) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

static void out_of_patience(int number) {
  (void)number;
  strata_restore_in_handler();
  signal(asked_to_end, SIG_DFL);
  unblock(asked_to_end);
  raise(asked_to_end);
}

void strata_limit_goodbye(int number) {
  if (asked_to_end) return;
  asked_to_end = number;
  alarm(2);
}

static void tell(int number) {
  KEEPING_ERRNO({
    if (number == SIGTERM || number == SIGHUP) {
      // A logout sends both, and a shell that ends sends the second one again: neither means that a goodbye takes too long.
      if (number == SIGTERM && asked_to_end == SIGTERM) out_of_patience(0);
      strata_limit_goodbye(number);
    }
    strata_post_signal(number);
  });
}

// Stack for the handlers, so that a stack overflow on the main thread can be caught too.
static void give_alternate_stack(void) {
  stack_t current;
  if (sigaltstack(NULL, &current) == 0 && !(current.ss_flags & SS_DISABLE)) return;
  enum { SIZE = 64 * 1024 };
  static char memory[SIZE];
  stack_t own = {.ss_sp = memory, .ss_size = SIZE};
  sigaltstack(&own, NULL);
}

void strata_signals_catch(void) {
  if (caught) return;
  caught = true;
  give_alternate_stack();
  struct sigaction telling = {.sa_handler = tell, .sa_flags = SA_RESTART};
  for (int index = 0; index < TOLD; index++) sigaction(told[index], &telling, &before_told[index]);
  struct sigaction patience = {.sa_handler = out_of_patience};
  sigaction(SIGALRM, &patience, &before_alarm);
  struct sigaction dying = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  for (int index = 0; index < DEADLY; index++) sigaction(deadly[index], &dying, &before_deadly[index]);
}

void strata_signals_release(void) {
  if (!caught) return;
  caught = false;
  for (int index = 0; index < DEADLY; index++) sigaction(deadly[index], &before_deadly[index], NULL);
  // The alarm stays set: work that does not end must not hold up a goodbye, nor may further signals cut it short.
  if (asked_to_end) return;
  for (int index = 0; index < TOLD; index++) sigaction(told[index], &before_told[index], NULL);
  sigaction(SIGALRM, &before_alarm, NULL);
}

void strata_signals_default_in_child(sigset_t *signals) {
  sigemptyset(signals);
  for (int index = 0; index < TOLD; index++) sigaddset(signals, told[index]);
  for (int index = 0; index < DEADLY; index++) sigaddset(signals, deadly[index]);
  sigaddset(signals, SIGALRM);
  sigaddset(signals, SIGPIPE);
  sigaddset(signals, SIGXFSZ);
}

void strata_stop(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL}, ours;
  sigaction(SIGTSTP, &standard, &ours);
  kill(0, SIGTSTP);
  sigaction(SIGTSTP, &ours, NULL);
}

// The thread that calls this may have the signal blocked, as the threads of an event library have.
void strata_die(int number) {
  signal(number, SIG_DFL);
  unblock(number);
  raise(number);
  _exit(128 + number);
}

bool strata_has_interactive_backtracer(void) {
  struct sigaction present;
  return sigaction(SIGILL, NULL, &present) == 0 && present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN;
}
