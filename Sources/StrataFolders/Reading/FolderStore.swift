package import StrataModel
import StrataLocks

/// A folder that the original CodableDatastore library wrote, read through the same interface as our own stores.
///
/// Nothing in the folder is ever changed: no lock is taken, no date rewritten, no file made. Every iteration is a commit, numbered from the
/// oldest that still exists. An app may go on writing meanwhile: its files never change after they are written, and the only pointer is
/// replaced in one step.
///
/// Opening walks the iterations back once and reads nothing of the records.
package final class FolderStore: ReadableStore {
  package let path: String
  package let contents: FolderContents
  private let state: Mutex<State>
  let counts = Mutex(BoundedCache<FolderHistory.Link, CommitDetails>(half: 512))

  /// The result of the last look at the pointers.
  struct State: Sendable {
    var history: FolderHistory
    var head: FolderView
    /// The iteration that the folder's manifest named, so that a look tells quickly whether anything is new.
    var pointer: FolderHistory.Link?
    var report: [String]
    /// The reason for not showing the newest commit, if an older one is shown.
    var damage: String?
  }

  /// Opens the folder; throws if it is not such a folder (`ModelError.invalid`) or none of it can be read.
  package init(at path: String) throws(ModelError) {
    self.path = path
    contents = FolderContents(path: path)
    let contents = contents
    state = Mutex(try reading { () throws(FolderError) in try Self.look(at: contents, after: nil) })
  }

  package var access: StoreAccess {
    .readOnly(
      reason:
        "it is a folder of the original CodableDatastore library; “strata convert” makes a store of it that can be edited"
    )
  }

  package var openingReport: [String] { state.withLock { [$0.damage].compactMap(\.self) + $0.report } }
  package var damage: String? { state.withLock { $0.damage } }
  package var head: any ReadableView { headView }
  var headView: FolderView { state.withLock { $0.head } }
  package var history: FolderHistory { state.withLock { $0.history } }
  package var writer: WriterHold? { nil }
  package var activity: Activity? { nil }
  package var pins: [Pin] { get throws(ModelError) { [] } }

  package var commitCount: UInt64 { head.commit.rawValue }

  package var byteCount: UInt64 {
    get throws(ModelError) {
      var sum: UInt64 = 0
      contents.files.walk { _, size in sum += UInt64(size) }
      return sum
    }
  }

  package func refresh() throws(ModelError) -> any ReadableView {
    let known = state.withLock { $0 }
    if contents.forgetDamage() { counts.withLock { $0.removeAll() } }
    let fresh = try reading { () throws(FolderError) in try Self.look(at: contents, after: known) }
    state.withLock { $0 = fresh }
    return fresh.head
  }

  package func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView { try folderView(at: commit) }

  func folderView(at commit: CommitNumber) throws(ModelError) -> FolderView {
    let (history, head) = state.withLock { ($0.history, $0.head) }
    if head.commit == commit { return head }
    if commit.rawValue == 0 { return FolderView(empty: contents) }
    guard let link = history.link(commit) else { throw .noSuchCommit("\(commit)") }
    return try reading { () throws(FolderError) in try FolderView(commit, at: link, in: contents) }
  }

  private static func look(at contents: FolderContents, after known: State?) throws(FolderError) -> State {
    var report: [String] = []
    var damage: String?
    let pointer = try currentIteration(of: contents, damage: &damage)
    // A file that was damaged or missing may be there by now. While it is not, all iterations need not be walked again.
    func isStillUnreadable() -> Bool { pointer.map { (try? contents.iteration($0)) == nil } ?? false }
    if let known, known.pointer == pointer, damage == nil, known.damage == nil || isStillUnreadable() { return known }
    guard let pointer else {
      return State(history: FolderHistory(), head: FolderView(empty: contents), report: [], damage: damage)
    }
    let history = try history(from: pointer, after: known, in: contents, damage: &damage)
    switch history.ending {
    case nil, .pruned: break
    case .unreadable(let error): report.append("the history ends before \(history.links.count) commits: \(error)")
    case .loop(let link): report.append("the history leads back to itself: \(link.file) was met already")
    }
    guard let newest = history.links.last else {
      return State(history: history, head: FolderView(empty: contents), report: report, damage: damage)
    }
    let head = try FolderView(history.head, at: newest, in: contents)
    return State(history: history, head: head, pointer: pointer, report: report, damage: damage)
  }

  /// The iteration that `Info.json` and the snapshot's manifest lead to; nil in an empty store.
  static func currentIteration(
    of contents: FolderContents, damage: inout String?
  ) throws(FolderError) -> FolderHistory.Link? {
    func parse<File: ParsedFile>(_ file: String) throws(FolderError) -> File? {
      do throws(FolderError) {
        return try contents.parse(file)
      } catch {
        guard error.problem == .missing else { throw error }
        damage = "\(file) is missing, which reads as an empty store"
        return nil
      }
    }
    guard let info: InfoFile = try parse(InfoFile.name), let snapshot = info.currentSnapshot,
      let manifest: SnapshotManifest = try parse(FolderLayout.manifest(of: snapshot))
    else { return nil }
    return manifest.currentIteration.map { FolderHistory.Link(iteration: $0, snapshot: snapshot) }
  }

  /// The history from the current iteration; if that cannot be read, from the newest one that can.
  private static func history(
    from pointer: FolderHistory.Link, after known: State?, in contents: FolderContents, damage: inout String?
  ) throws(FolderError) -> FolderHistory {
    do throws(FolderError) {
      return try FolderHistory(from: pointer, known: known?.history ?? FolderHistory(), in: contents)
    } catch {
      for link in iterations(of: pointer.snapshot, in: contents).reversed() {
        guard link != pointer, let history = try? FolderHistory(from: link, in: contents) else { continue }
        damage = "\(error); shown is the newest commit that can be read, \(link.iteration)"
        return history
      }
      throw error
    }
  }

  /// All iteration files of a snapshot, also those that nothing refers to, by their creation.
  static func iterations(of snapshot: DatedIdentifier, in contents: FolderContents) -> [FolderHistory.Link] {
    var found: [(date: Int64, link: FolderHistory.Link)] = []
    contents.files.walk(FolderLayout.iterations(of: snapshot)) { file, _ in
      guard let name = file.split(separator: "/").last, name.hasSuffix(".json"),
        let identifier = DatedIdentifier(String(name.dropLast(".json".count)))
      else { return }
      let link = FolderHistory.Link(iteration: identifier, snapshot: snapshot)
      if link.file == file, let iteration = try? contents.iteration(link) {
        found.append((iteration.creationDate, link))
      }
    }
    return found.sorted { ($0.date, $0.link.file) < ($1.date, $1.link.file) }.map(\.link)
  }
}
