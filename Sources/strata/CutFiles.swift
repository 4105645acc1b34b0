import Locks

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What becomes of this process where a mapped file cannot be read: another program has cut it short, or its disk fails. The system
/// tells of that by a signal to whoever touches the bytes.
enum UnreadableMappings {
  /// Whether any page could not be read.
  static let areMet = Atomic(false)
  /// Whether such a page is zeros from then on, which no check takes for what was written there: what lay in it is damage then, and
  /// the rest can be read. For verbs that only read; others end.
  static let areZeros = Atomic(false)
  private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Takes the signals. The first one is told of on standard error.
  static func takeSignals() {
    // Made now: nothing but system calls may be made when a signal comes.
    _ = (areMet.load(ordering: .relaxed), areZeros.load(ordering: .relaxed), pageSize)
    var action = sigaction()
    action.sa_flags = Int32(SA_SIGINFO)
    #if canImport(Darwin)
      action.__sigaction_u.__sa_sigaction = { _, fault, _ in UnreadableMappings.take(fault?.pointee.si_addr) }
    #else
      action.__sigaction_handler.sa_sigaction = { _, fault, _ in
        UnreadableMappings.take(fault?.pointee._sifields._sigfault.si_addr)
      }
    #endif
    sigaction(SIGBUS, &action, nil)
  }

  private static func take(_ address: UnsafeMutableRawPointer?) {
    if !areMet.exchange(true, ordering: .relaxed) {
      let sentence: StaticString =
        "strata: the store's file was cut short while it was read, or its disk cannot read it\n"
      _ = write(STDERR_FILENO, sentence.utf8Start, sentence.utf8CodeUnitCount)
    }
    guard areZeros.load(ordering: .relaxed), let address else { _exit(3) }
    let page = UnsafeMutableRawPointer(bitPattern: Int(bitPattern: address) / pageSize * pageSize)
    guard mmap(page, pageSize, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANON, -1, 0) != MAP_FAILED else { _exit(3) }
  }
}
