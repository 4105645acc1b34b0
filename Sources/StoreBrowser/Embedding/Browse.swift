import StrataCurses
public import StrataModel
import StrataFoundation

/// Shows a store of this app in the terminal until the user leaves.
///
///     import CodableDatastore
///     import StoreBrowser
///
///     try await StoreBrowser.browse(persistence.browsable(with: cities, countries))
///
/// The app's own types check edits, and its migrations run inside the browser, whose migration pane shows them. Staged changes are kept
/// under `$XDG_STATE_HOME/strata`; keys and colours come from `$XDG_CONFIG_HOME/strata/config`.
///
/// - Parameters:
///   - store: The app's store with its types, as the typed library's `browsable(with:)` makes it.
///   - datastore: The key of the datastore to begin with; nil for the first.
///   - isReadOnly: Whether every command that would change the store is refused.
/// - Throws: ``BrowserProblem`` if there is no terminal.
/// - Note: Blocks the main thread as long as the browser is on the screen; all work that it waits for runs on its own threads.
@MainActor
public func browse(_ store: BrowsableStore, datastore: String? = nil, isReadOnly: Bool = false) throws(BrowserProblem) {
  let environment = ProcessInfo.processInfo.environment
  var configuration = BrowserConfiguration(storePath: store.store.path, environment: environment)
  configuration.start.datastore = datastore
  configuration.isReadOnly = configuration.isReadOnly || isReadOnly
  let plan = try? store.warmUp?.plan()
  configuration.warmsUpAtStart = plan?.isEmpty == false && !configuration.isReadOnly
  let files = BrowserFiles(forStoreAt: store.store.path, of: store.store, environment: environment)
  do throws(TerminalProblem) {
    _ = try TerminalSession().run {
      BrowserProgram(OpenedStore(store.store, configuration: configuration, files: files, warmUp: store.warmUp))
    }
  } catch { throw BrowserProblem(description: "\(error)") }
}

/// Why the browser could not be shown.
public struct BrowserProblem: Error, Sendable, CustomStringConvertible {
  /// One sentence.
  public let description: String
}

extension BrowserConfiguration {
  /// Makes the configuration for a store: the settings of the config file, and its errors.
  package init(storePath: String, environment: [String: String]) {
    self.init()
    guard let path = SettingsFile.path(environment: environment) else { return }
    let file = SettingsFile(path: path)
    settings = file.settings
    problems = file.problems
    isReadOnly = settings.isReadOnly(storePath) || settings.isReadOnly(BrowserFiles.absolute(storePath))
    theme.isASCII = settings.ascii
  }
}
