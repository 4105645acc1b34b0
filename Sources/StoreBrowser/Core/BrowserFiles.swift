import StrataDocuments
package import StrataModel
import StrataFoundation
import StrataLocks
import StrataSystem

/// The files of the browser outside the store: staged changes, columns, views, bookmarks, and exports.
package struct BrowserFiles: Sendable {
  /// One folder per store, as `$XDG_STATE_HOME/strata/NAME`; nil keeps nothing.
  package var folder: String?
  /// The folder for relative paths that a user types; nil is the working directory.
  package var base: String?
  /// The folder of what belongs to the records as they are: to the store by its identity, to an opened file by its present contents.
  private let place: String?
  /// Whether earlier versions kept all of it in `folder`, by the path alone: there it is taken from once.
  private let hasFormer: Bool
  private let staged: ClaimedFile?
  private let kept = KeptState()
  /// For a store in memory: the file that keeps its commits.
  var commits: StagedFile?
  /// Why there is no file for staged changes, if one was expected.
  private var stagedProblem: String?

  /// Keeps nothing.
  package static let none = BrowserFiles(folder: nil)

  /// Staged changes, drafts, bookmarks, past builds and a merge under way apply to no other contents, and to no other store at the path.
  ///
  /// - Parameters:
  ///   - contents: the digest of an opened file.
  ///   - identity: the identity of a store.
  package init(folder: String?, contents: UInt64? = nil, identity: String? = nil) {
    self.folder = folder
    hasFormer = identity != nil
    place = folder.map { Self.place(of: identity ?? contents.map { String($0, radix: 16) }, in: $0) }
    staged = place.map(ClaimedFile.init)
  }

  /// The files for a store; nil for one whose identity is not known.
  package init(forStoreAt path: String, of store: (any ReadableStore)?, environment: [String: String]) {
    let folder = Self.folder(forStoreAt: path, environment: environment)
    self.init(folder: folder, identity: (store as? any EditableStore)?.identity)
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
    try staged?.file().save(changes)
  }

  /// - Parameter fits: whether changes that were kept by the path alone are of the store.
  func loadStaged(
    _ descriptors: [DatastoreDescriptor], counted: (Int) -> Void, fits: (StagedChanges) -> Bool
  ) throws(ModelError) -> KeptStaged {
    let staged: StagedFile
    do throws(ModelError) {
      guard let file = try self.staged?.file() else { return KeptStaged(problem: stagedProblem) }
      staged = file
    } catch { return KeptStaged(problem: error.description) }
    do throws(ModelError) {
      if let changes = try staged.load(descriptors, counted: counted) { return KeptStaged(staged: changes) }
      guard hasFormer, let folder, let former = try? StagedFile(folder: folder),
        let changes = try? former.load(descriptors), fits(changes)
      else { return KeptStaged() }
      try staged.save(changes)
      try former.save(StagedChanges())
      return KeptStaged(staged: changes)
    } catch {
      let aside = try staged.setAside()
      return KeptStaged(problem: "\(error.description); the file lies at \(aside)")
    }
  }

  // MARK: Remembered

  /// Writes what this browser has changed since it last read or wrote the files into those that another browser may have written since.
  func save(_ remembered: Remembered) throws(ModelError) {
    guard let folder, let place else { return }
    do {
      let lock = try Self.lock(of: folder)
      defer { _ = close(lock) }
      let (mine, base) = (parts(of: remembered), kept.last.withLock { $0 }.map(parts))
      let common = try Self.merged(mine.common, over: base?.common, in: folder) { parts(of: $0).common }
      try Self.write(common, in: folder)
      if place != folder {
        let own = try Self.merged(mine.own, over: base?.own, in: place) { $0 }
        if own == Remembered() { unlink(Self.file(in: place)) } else { try Self.write(own, in: place) }
      }
      kept.last.withLock { $0 = remembered }
    } catch { throw .storage("columns, bookmarks and drafts cannot be kept in \(folder)", kind: .failed) }
  }

  /// Waits until no other browser saves in a folder, and locks it until the returned file is closed. If the file system has no locks, or a
  /// browser that is stopped has the lock for a second, the save goes on without one.
  private static func lock(of folder: String) throws -> Int32 {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let lock = open("\(folder)/remembered.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    var tries = 0
    while flock(lock, LOCK_EX | LOCK_NB) != 0, [EWOULDBLOCK, EINTR].contains(errno), tries < 100 {
      usleep(10_000)
      tries += 1
    }
    return lock
  }

  /// The state for every store at the path, and that for the records as they are.
  private func parts(of remembered: Remembered) -> (common: Remembered, own: Remembered) {
    var (common, own) = (remembered, Remembered())
    guard place != folder else { return (common, own) }
    swap(&common.bookmarks, &own.bookmarks)
    swap(&common.drafts, &own.drafts)
    swap(&common.mergeDrafts, &own.mergeDrafts)
    swap(&common.builds, &own.builds)
    return (common, own)
  }

  private static func merged(
    _ mine: Remembered, over base: Remembered?, in folder: String, part: (Remembered) -> Remembered
  ) throws -> Remembered {
    let file = URL(filePath: file(in: folder))
    guard let base, let theirs = try? part(JSONDecoder().decode(Remembered.self, from: Data(contentsOf: file))),
      theirs != base
    else { return mine }
    let documents = try [base, mine, theirs].map {
      try JSONParser.parse(String(decoding: encoder.encode($0), as: UTF8.self))
    }
    let merge = DocumentMerge(base: documents[0], mine: documents[1], theirs: documents[2])
    return try JSONDecoder().decode(Remembered.self, from: Data(merge.merged.compactJSON.utf8))
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return encoder
  }

  private static func write(_ remembered: Remembered, in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try encoder.encode(remembered).write(to: URL(filePath: file(in: folder)), options: .atomic)
  }

  func loadRemembered() -> KeptRemembered {
    var kept = KeptRemembered()
    kept.remembered = Self.remembered(in: folder, &kept.problem) ?? Remembered()
    let own = Self.remembered(in: place, &kept.problem) ?? (hasFormer ? kept.remembered : Remembered())
    (kept.remembered.bookmarks, kept.remembered.drafts) = (own.bookmarks, own.drafts)
    (kept.remembered.mergeDrafts, kept.remembered.builds) = (own.mergeDrafts, own.builds)
    self.kept.last.withLock { [kept] last in last = kept.remembered }
    return kept
  }

  /// Keeps drafts and bookmarks for the contents that an opened file was given, whose rows have their numbers still.
  func moveRemembered(to contents: UInt64) {
    guard let folder, let place else { return }
    let next = Self.place(of: String(contents, radix: 16), in: folder)
    try? FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: true)
    _ = rename(Self.file(in: place), Self.file(in: next))
  }

  private static func place(of owner: String?, in folder: String) -> String {
    folder + (owner.map { "/staged-of-" + $0 } ?? "")
  }

  private static func file(in folder: String) -> String { folder + "/remembered.json" }

  /// Reads one file. An unreadable one is moved aside, so that the next save does not replace it.
  private static func remembered(in folder: String?, _ problem: inout String?) -> Remembered? {
    guard let folder, access(file(in: folder), F_OK) == 0 else { return nil }
    let file = file(in: folder)
    do {
      return try JSONDecoder().decode(Remembered.self, from: Data(contentsOf: URL(filePath: file)))
    } catch {
      let place = (try? StagedFile.setAside(file, in: folder)) ?? file
      problem = "columns, views and bookmarks cannot be read; the file lies at \(place)"
      return nil
    }
  }

  // MARK: Output

  func exists(_ path: String) -> Bool { access(expanding(path), F_OK) == 0 }

  /// Whether a file lies where one is to be written; throws if something else does, which cannot be replaced.
  func holdsFile(_ path: String) throws(ModelError) -> Bool {
    var status = stat()
    guard stat(expanding(path), &status) == 0 else { return false }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let what = status.st_mode & S_IFMT == S_IFDIR ? "is a folder" : "is not a plain file"
      throw .refused(reason: "\(path) \(what); give another name")
    }
    return true
  }

  /// Throws if there is something at a path.
  func requireNew(_ path: String) throws(ModelError) {
    if try holdsFile(path) { throw .refused(reason: "\(path) is there already; give another name") }
  }

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

/// The columns, views and bookmarks as they were last read or written; nil before that.
private final class KeptState: Sendable {
  let last = Mutex<Remembered?>(nil)
}

/// A file for staged changes that is claimed when it is first used, so that the first rows do not wait for its folder.
private final class ClaimedFile: Sendable {
  private let folder: String
  private let claim = Mutex<Result<StagedFile, ModelError>?>(nil)

  init(folder: String) { self.folder = folder }

  /// If it could not be claimed at first, it is not claimed later either: a save would replace changes that were not read.
  func file() throws(ModelError) -> StagedFile {
    try claim.withLock { claim throws(ModelError) in
      let result = claim ?? Result { () throws(ModelError) in try StagedFile(folder: folder) }
      claim = result
      return try result.get()
    }
  }
}
