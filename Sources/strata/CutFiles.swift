#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Gives a word and a status to the end of the process where a mapped file cannot be read: another program has cut it short, or its
/// disk fails. The system tells of that by a signal to whoever touches the bytes.
func explainUnreadableMappings() {
  signal(SIGBUS) { _ in
    // Nothing but system calls may be made here.
    let sentence: StaticString =
      "strata: the store's file was cut short while it was read, or its disk cannot read it\n"
    _ = write(STDERR_FILENO, sentence.utf8Start, sentence.utf8CodeUnitCount)
    _exit(3)
  }
}
