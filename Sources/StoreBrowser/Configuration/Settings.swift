/// What the config file may say.
package struct Settings: Sendable, Hashable {
  /// Other keys for commands.
  package var bindings: [Command: [String]] = [:]
  /// Nil: by what the terminal can show.
  package var theme: Theme.Name?
  package var mouse = true
  package var ascii = false
  package var follows = true
  /// Stores, by the end of their path, that are opened read-only.
  package var readOnly: [String] = []

  package init() {}
}
