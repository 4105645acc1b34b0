import StrataDocuments
import StrataModel
import StrataFoundation
import StrataSystem

/// The files of the browser outside the store: staged changes, columns, views, bookmarks, and exports.
package struct BrowserFiles: Sendable {
  /// One folder per store, as `$XDG_STATE_HOME/strata/NAME`; nil keeps nothing.
  package var folder: String?
  /// The folder for relative paths that a user types; nil is the working directory.
  package var base: String?
  private let staged: StagedFile?
  /// For a store in memory: the file that keeps its commits.
  var commits: StagedFile?
  /// Why staged changes cannot be kept; nil if they can.
  private var stagedProblem: String?

  /// Keeps nothing.
  package static let none = BrowserFiles(folder: nil)

  /// - Parameter contents: a name for the contents of an opened file, whose staged changes apply to no others.
  package init(folder: String?, contents: String? = nil) {
    self.folder = folder
    guard let folder else {
      (staged, stagedProblem) = (nil, nil)
      return
    }
    let place = folder + (contents.map { "/staged-of-\($0)" } ?? "")
    do throws(ModelError) { (staged, stagedProblem) = (try StagedFile(folder: place), nil) } catch {
      (staged, stagedProblem) = (nil, error.description)
    }
  }

  /// The files for a store.
  package init(forStoreAt path: String, environment: [String: String]) {
    self.init(folder: Self.folder(forStoreAt: path, environment: environment))
    if folder == nil { stagedProblem = "the staged changes cannot be kept: neither HOME nor XDG_STATE_HOME is set" }
  }

  /// The folder of a store: under `$XDG_STATE_HOME/strata`, named by the store's name and a mark of its path.
  package static func folder(forStoreAt path: String, environment: [String: String]) -> String? {
    guard let folder = stateFolder(environment: environment) else { return nil }
    let full = absolute(path)
    let name = full.split(separator: "/").last.map(String.init) ?? "store"
    return "\(folder)/\(name)-\(mark(of: full))"
  }

  /// `$XDG_STATE_HOME/strata`, or its default; nil if the environment has no home.
  static func stateFolder(environment: [String: String]) -> String? {
    if let state = environment["XDG_STATE_HOME"], !state.isEmpty { return "\(state)/strata" }
    if let home = environment["HOME"], !home.isEmpty { return "\(home)/.local/state/strata" }
    return nil
  }

  /// The absolute path, if something exists there.
  static func absolute(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Eight hexadecimal digits of a text (FNV-1a), so that stores of one name do not share a folder.
  private static func mark(of text: String) -> String {
    var hash: UInt32 = 2_166_136_261
    for byte in text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return String(Hexadecimal.text(of: UInt64(hash)).suffix(8))
  }

  // MARK: Staged changes

  func save(_ changes: StagedChanges) throws(ModelError) {
    if let stagedProblem { throw .storage(stagedProblem, kind: .failed) }
    try staged?.save(changes)
  }

  func loadStaged(
    _ descriptors: [DatastoreDescriptor], counted: (Int) -> Void
  ) throws(ModelError) -> KeptStaged {
    guard let staged else { return KeptStaged(problem: stagedProblem) }
    do throws(ModelError) {
      return KeptStaged(staged: try staged.load(descriptors, counted: counted) ?? StagedChanges())
    } catch {
      let aside = try staged.setAside()
      return KeptStaged(problem: "\(error.description); the file lies at \(aside)")
    }
  }

  // MARK: Remembered

  func save(_ remembered: Remembered) throws(ModelError) {
    guard let folder else { return }
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try encoder.encode(remembered).write(to: URL(filePath: "\(folder)/remembered.json"), options: .atomic)
    } catch { throw .storage("columns, bookmarks and drafts cannot be kept in \(folder)", kind: .failed) }
  }

  func loadRemembered() throws(ModelError) -> Remembered? {
    guard let folder, let data = try? Data(contentsOf: URL(filePath: "\(folder)/remembered.json")) else { return nil }
    return try? JSONDecoder().decode(Remembered.self, from: data)
  }

  // MARK: Output

  func exists(_ path: String) -> Bool { access(expanding(path), F_OK) == 0 }

  /// Writes a file as `FileOutput` does. If `body` throws, an existing file stays as it is.
  ///
  /// - Returns: the path of the copy of the old file, if it was written in place.
  @discardableResult
  func write(_ path: String, _ body: (FileOutput) throws(ModelError) -> Void) throws(ModelError) -> String? {
    let output = try FileOutput(path: expanding(path))
    do throws(ModelError) {
      try body(output)
      return try output.finish()
    } catch {
      output.discard()
      throw error
    }
  }

  /// A path as a shell expands it: `~/` is the home folder.
  func expanding(_ path: String) -> String {
    if path == "~" || path.hasPrefix("~/"), let home = getenv("HOME") {
      return String(cString: home) + path.dropFirst()
    }
    guard let base, !path.hasPrefix("/") else { return path }
    return "\(base)/\(path)"
  }
}
