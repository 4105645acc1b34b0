import StrataSystem

/// The environment variables that concern the terminal.
struct Environment {
  /// A variable; nil if it is not set.
  static subscript(name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Whether a variable is set and not empty, as `NO_COLOR` is read.
  static func has(_ name: String) -> Bool { self[name].map { !$0.isEmpty } ?? false }

  /// The system's message for `errno`.
  static var lastError: String { String(cString: strerror(errno)) }
}
