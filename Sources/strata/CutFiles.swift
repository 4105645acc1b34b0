import StrataLocks
import StrataSystem

/// Handles reads of a mapped file that fail because another program has truncated it, or because its disk fails. The system reports that by
/// a signal to the thread that touches the bytes.
enum UnreadableMappings {
  /// Whether any page could not be read.
  static let areMet = Atomic(false)
  /// Whether such a page is replaced with zeros, which no check accepts as valid contents: it counts as damage then, and the rest can be
  /// read. Set by verbs that only read; others end.
  static let areZeros = Atomic(false)
  private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Installs the signal handler. It reports the first failure on standard error.
  static func installHandler() {
    // Initialized now, because a signal handler may only make system calls.
    _ = (areMet.load(ordering: .relaxed), areZeros.load(ordering: .relaxed), pageSize)
    var action = sigaction()
    action.sa_flags = Int32(SA_SIGINFO)
    #if canImport(Darwin)
      action.__sigaction_u.__sa_sigaction = { _, fault, _ in UnreadableMappings.handleSignal(fault?.pointee.si_addr) }
    #else
      action.__sigaction_handler.sa_sigaction = { _, fault, _ in
        UnreadableMappings.handleSignal(fault?.pointee._sifields._sigfault.si_addr)
      }
    #endif
    sigaction(SIGBUS, &action, nil)
  }

  private static func handleSignal(_ address: UnsafeMutableRawPointer?) {
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
