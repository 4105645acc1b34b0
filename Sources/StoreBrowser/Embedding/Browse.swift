import CursesTerminal
public import DatastoreModel
import FoundationEssentials

/// Shows an app's own store in the terminal until the person leaves: the same browser as `strata`, with the app's types,
/// so that edits are checked by them and migrations run before the person's eyes.
///
/// ```swift
/// import CodableDatastore
/// import StoreBrowser
///
/// let persistence = try DiskPersistence(readWriteURL: url)
/// let books = BookFormat.datastore(in: persistence)
/// try await browse(persistence.browsable(with: books))
/// ```
///
/// Standard input and output must be a terminal. It blocks the main thread; the app's own work goes on elsewhere.
///
/// - Parameters:
///   - store: What `persistence.browsable(with:)` answers.
///   - datastore: The key of the datastore to begin with; the first one without it.
///   - isReadOnly: Nothing is staged or written, whatever is asked.
/// - Returns: The exit status that the person left with.
/// - Throws: A sentence where there is no terminal, or none that is known.
@MainActor @discardableResult
public func browse(_ store: BrowsableStore, datastore: String? = nil, isReadOnly: Bool = false) throws -> Int32 {
  var configuration = BrowserConfiguration()
  configuration.start.datastore = datastore
  configuration.isReadOnly = isReadOnly
  let environment = ProcessInfo.processInfo.environment
  let files = BrowserFiles(folder: BrowserFiles.folder(forStoreAt: store.store.path, environment: environment))
  return try TerminalSession().run {
    BrowserProgram(store: store.store, configuration: configuration, files: files, warmUp: store.warmUp)
  }
}
