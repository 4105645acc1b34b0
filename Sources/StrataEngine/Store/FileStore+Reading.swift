import StrataLocks

extension FileStore {
  package var head: View { publication.head }

  package var commitCount: UInt64 { publication.current.newest.links.orderDepth }

  /// Makes no system call.
  package var visibleState: UInt64? { writing.holdsLock || lockLook.isUnchanged ? publication.number : nil }

  /// Whether data lies at the store's path. If it was deleted or moved, the commits that are open can still be read. Returns true if the
  /// disk does not say.
  package var isInPlace: Bool {
    do { return try reading.statusByName() != nil } catch { return true }
  }

  package func releaseMemory() { publication.current.file.releaseMemory() }

  /// Opens the data again if compaction has put another file there. Makes no system call if the disk maps files and a look within the last
  /// tenth of a second found the words of now, or a writer of the same session.
  @discardableResult
  package func refresh() throws(StorageError) -> View {
    if writing.holdsLock || lockLook.isUnchanged || showProgress() { return head }
    var look = try lockLook.look()
    while true {
      let known = publication.current
      guard let state = try advanced(known, (look.hold, look.isHeld)) else {
        lockLook.recordSeen(look)
        return head
      }
      // If a writer came while the tail was being read, the commits read may not be durable yet.
      let after = try lockLook.look()
      if !look.isHeld, after.isHeld {
        look = after
        continue
      }
      if publication.show(state, after: known) {
        lockLook.recordSeen(look)
        return head
      }
      if writing.holdsLock { return head }
      look = after
    }
  }

  /// Shows the commits that the writer of the last look has made durable since, by the mapped words. Returns whether they are all there
  /// are. The data is the same file, or the generation would be another, and has grown by whole frames.
  private func showProgress() -> Bool {
    guard let words = lockLook.progress else { return false }
    let known = publication.current
    let file = known.file
    guard words.generation == file.header.identity.generation, words.durableEnd <= file.end,
      words.durableEnd >= known.chain.end
    else { return false }
    guard words.durableEnd > known.chain.end else {
      lockLook.recordSeen(words)
      return true
    }
    var chain = known.chain
    // Anything that does not fit is left to a whole look.
    guard (try? FrameScanner(file: file).advance(&chain, limit: words.durableEnd, verifiesHash: false)) != nil,
      chain.end == words.durableEnd, chain.offset > 0, let newest = try? file.record(at: chain.offset),
      let state = try? Publication.State(file: file, newest: newest, chain: chain),
      publication.show(state, after: known)
    else { return false }
    lockLook.recordSeen(words)
    return true
  }

  /// The newest state according to the lock file. Returns nil if it is the one that is shown.
  private func advanced(
    _ known: Publication.State, _ look: (hold: LockHold?, isHeld: Bool)
  ) throws(StorageError) -> Publication.State? {
    var state = known
    let found = try reading.statusByName()
    let isReplaced = found.map { $0.identity != state.file.identity } ?? false
    if isReplaced {
      state = try reading.open(look).state
    }
    let file = state.file
    // The look by the name gave the size, too, if the file is still the one that is open.
    var end = found?.end ?? 0
    if isReplaced || found == nil { end = try engineCall { () throws(DiskError) in try file.file.status.end } }
    file.extend(to: end)
    var limit = end
    if look.isHeld {
      guard let hold = look.hold, hold.generation == file.header.identity.generation else {
        return isReplaced ? state : nil
      }
      limit = min(end, hold.durableEnd)
    }
    var chain = state.chain
    let added = try FrameScanner(file: file).advance(&chain, limit: limit, verifiesHash: !look.isHeld)
    guard added > 0 else { return isReplaced ? state : nil }
    return try Publication.State(file: file, newest: try file.record(at: chain.offset), chain: chain)
  }

  /// Costs at most about 2 log₂ n frame reads.
  package func view(at number: UInt64) throws(StorageError) -> View {
    let current = publication.current
    if number == current.head.number { return current.view }
    let search = CommitSearch(file: current.file, newest: current.newest)
    return View(commit: try search.commit(number), file: current.file)
  }

  package func commit(_ number: UInt64) throws(StorageError) -> CommitRecord { try view(at: number).commit }

  /// Costs at most about 2 log₂ n frame reads beside finding `of`.
  package func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord {
    let view = try view(at: number)
    let search = CommitSearch(file: view.file, newest: view.commit)
    guard let found = try search.ancestor(of: view.commit, where: { $0.number <= ancestor }) else {
      throw .noSuchCommit(number: ancestor)
    }
    return found
  }

  package func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord {
    let view = try view(at: number)
    let search = CommitSearch(file: view.file, newest: view.commit)
    guard let found = try search.ancestor(of: view.commit, clockedNotLaterThan: date) else {
      throw .noCommitAsOld(date: date)
    }
    return found
  }

  package func clock(of commit: CommitRecord) throws(StorageError) -> Int64 {
    guard commit.mayHaveOwnClock else { return commit.date }
    let (file, commit) = try found(commit)
    return try file.clock(of: commit)
  }

  /// The data that is open now, and a commit as it has it: compaction may have put another file in place since the record was read.
  func found(_ commit: CommitRecord) throws(StorageError) -> (file: DataFile, commit: CommitRecord) {
    let (state, offset) = (publication.current, commit.links.own.offset)
    let file = state.file
    if offset < file.end, let found = try? file.record(at: offset), found == commit { return (file, found) }
    return (file, try CommitSearch(file: file, newest: state.newest).commit(commit.number))
  }

  package var names: [String: UInt64] {
    get throws(StorageError) {
      Dictionary(try publication.current.names().map { ($0.name, $0.commit) }) { first, _ in first }
    }
  }

  /// Whether this store holds the writer's lock now.
  package var holdsLock: Bool { writing.holdsLock }

  package var writer: LockHold? {
    if writing.holdsLock { return nil }
    guard let look = try? LockFile(disk: disk, folder: path).look(), look.isHeld else { return nil }
    return look.hold.flatMap { $0.processIdentifier == 0 ? nil : $0 } ?? .unknown
  }

  package func follow(_ change: @escaping @Sendable () -> Void) throws(StorageError) -> any DiskWatch {
    try engineCall { () throws(DiskError) in try FollowToken(self, change) }
  }
}

/// Watches the files of a store that change with its state, also after another folder has taken the name of the store's.
private final class FollowToken: DiskWatch {
  private let files: Mutex<[any DiskWatch]>
  private let folder = Mutex<(any DiskWatch)?>(nil)

  init(_ store: FileStore, _ change: @escaping @Sendable () -> Void) throws(DiskError) {
    let (disk, path, lockLook) = (store.disk, store.path, store.lockLook)
    @Sendable func watchFiles() throws(DiskError) -> [any DiskWatch] {
      [try disk.watch(path + "/lock", change: change), try disk.watch(path + "/activity", change: change)]
    }
    files = Mutex(try watchFiles())
    let watch = try? disk.watch(path) { [weak self] in
      self?.files.withLock { $0 = (try? watchFiles()) ?? [] }
      lockLook.expire()
      change()
    }
    folder.withLock { $0 = watch }
  }
}

extension Publication.State {
  /// The names given to commits, by their bytes. In stores of older programs, texts that are equal may be among them twice.
  func names() throws(StorageError) -> [(name: String, commit: UInt64)] {
    var names: [(name: String, commit: UInt64)] = []
    let root = TreeRoot(pointer: newest.links.names)
    try CatalogScan(file: file).forEach(in: root, prefix: []) { name, payload throws(StorageError) in
      let number = try NamedCommit(payload, at: root.pointer.offset).number
      names.append((String(decoding: name.bytes, as: UTF8.self), number))
    }
    return names
  }
}

/// The value of a name in the names tree.
struct NamedCommit {
  var number: UInt64
  var offset: FileOffset

  var payload: Payload {
    let buffer = ByteBuffer(capacity: 16)
    buffer.append(number)
    buffer.append(offset)
    return .bytes(Bytes(copying: buffer.bytes))
  }
}

extension NamedCommit {
  init(_ payload: Payload, at position: FileOffset) throws(StorageError) {
    guard case .bytes(let bytes) = payload, bytes.count == 16 else { throw .damaged(what: "names", offset: position) }
    self = bytes.withUnsafeBytes {
      NamedCommit(
        number: loadInteger(UInt64.self, $0, at: 0), offset: FileOffset(loadInteger(UInt64.self, $0, at: 8)))
    }
  }
}
