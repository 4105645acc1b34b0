#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the environment says about the terminal.
struct Environment {
  /// A variable; nil where it is not set.
  static subscript(name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Whether a variable is set and not empty, as `NO_COLOR` is read.
  static func has(_ name: String) -> Bool { self[name].map { !$0.isEmpty } ?? false }

  /// The system's words for `errno`.
  static var lastError: String { String(cString: strerror(errno)) }
}
