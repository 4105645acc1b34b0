package import StrataModel
import StrataExpressions

/// The configuration of a browser at its start.
package struct BrowserConfiguration: Sendable {
  package struct Start: Sendable, Hashable {
    package var datastore: String?
    /// An identifier as the user types it.
    package var identifier: String?
    /// A commit as the user names it.
    package var commit: String?

    package init(datastore: String? = nil, identifier: String? = nil, commit: String? = nil) {
      self.datastore = datastore
      self.identifier = identifier
      self.commit = commit
    }
  }

  package var start = Start()
  /// Whether nothing is staged or written, whatever the user does.
  package var isReadOnly = false
  package var settings = Settings()
  /// Invalid lines of the config file.
  package var problems: [SettingsProblem] = []
  package var theme = Theme()
  package var time = TimeText.local
  /// Nanoseconds since 1970.
  package var clock: @Sendable () -> Int64 = { LocalTime.now }
  /// Whether the store reports other programs' commits.
  var isWatched = true
  /// Whether there are formats to migrate to.
  package var canWarmUp = false
  /// Whether it begins with the migration; with `startsAtMigration` it also opens its pane.
  package var warmsUpAtStart = false
  package var startsAtMigration = true
  /// The message at the start: the contents of the store, and the first keys to try.
  package var greeting: String?

  /// The file from which the store in memory was read, if it was.
  package var documentFile: DocumentFile?

  package init() {}

  var keymap: Keymap { Keymap(bindings: settings.bindings, aliases: settings.aliases) }
}
