#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs writes to a pipe whose reader may have gone: that is an error of the write then, and ends no process. What the process does with
/// SIGPIPE elsewhere stays as it is: the signal is held back on this thread, and taken away where the writes have raised it.
func withoutPipeSignal<R>(_ body: () throws -> R) throws -> R {
  var pipe = sigset_t()
  sigemptyset(&pipe)
  sigaddset(&pipe, SIGPIPE)
  var pending = sigset_t()
  sigpending(&pending)
  let wasPending = sigismember(&pending, SIGPIPE) == 1
  var before = sigset_t()
  pthread_sigmask(SIG_BLOCK, &pipe, &before)
  defer {
    let code = errno
    if !wasPending {
      sigpending(&pending)
      if sigismember(&pending, SIGPIPE) == 1 {
        var signal: Int32 = 0
        sigwait(&pipe, &signal)
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    errno = code
  }
  return try body()
}
