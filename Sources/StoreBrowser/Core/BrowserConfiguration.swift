package import DatastoreModel
import Expressions

/// What a browser is told at its start.
package struct BrowserConfiguration: Sendable {
  package struct Start: Sendable, Hashable {
    package var datastore: String?
    /// An identifier as a person types it.
    package var identifier: String?
    /// A commit as a person names it.
    package var commit: String?

    package init(datastore: String? = nil, identifier: String? = nil, commit: String? = nil) {
      self.datastore = datastore
      self.identifier = identifier
      self.commit = commit
    }
  }

  package var start = Start()
  /// Nothing is staged or written, whatever is asked.
  package var isReadOnly = false
  package var settings = Settings()
  /// Lines of the config file that could not be taken.
  package var problems: [SettingsProblem] = []
  package var theme = Theme()
  package var time = TimeText.local
  /// Nanoseconds since 1970.
  package var clock: @Sendable () -> Int64 = { LocalTime.now }
  /// Whether there are formats to migrate to.
  package var canWarmUp = false
  /// Begins with the migration; `startsAtMigration` with its pane too.
  package var warmsUpAtStart = false
  package var startsAtMigration = true
  /// What is said at the start of what one is looking at, and the keys to begin with.
  package var greeting: String?

  /// The file that the store in memory was read from, where it is one.
  package var documentFile: DocumentFile?

  package init() {}

  var keymap: Keymap { Keymap(bindings: settings.bindings) }
}
