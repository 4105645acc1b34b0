// Running another program on our terminal.
//
// It must be in the foreground process group, or its first read stops it: so it is started in our own group, with
// signals as a shell would have given them.

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "CStrataCurses.h"
#include "Shared.h"

extern char **environ;

int strata_run_in_foreground(char *const arguments[], int *status) {
  struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
  struct sigaction interrupt, quit, stop;
  sigaction(SIGINT, &ignore, &interrupt);
  sigaction(SIGQUIT, &ignore, &quit);
  sigaction(SIGTSTP, &standard, &stop);  // ^z in the program stops both, as the shell expects
  struct termios before;
  bool knows_before = tcgetattr(STDIN_FILENO, &before) == 0;

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults, none;
  strata_signals_default_in_child(&defaults);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  pid_t child;
  int problem = posix_spawnp(&child, arguments[0], NULL, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  if (problem == 0) {
    while (waitpid(child, status, 0) < 0) {
      if (errno == EINTR) continue;
      problem = errno;
      break;
    }
  }
  // A program that was killed leaves the terminal as it used it, and what is found now is given back at the end.
  if (knows_before) tcsetattr(STDIN_FILENO, TCSANOW, &before);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGQUIT, &quit, NULL);
  sigaction(SIGTSTP, &stop, NULL);
  return problem;
}

int strata_exit_status(int status) { return WIFSIGNALED(status) ? -1 - WTERMSIG(status) : WEXITSTATUS(status); }
