#if PostgreSQL
  import DatastoreModel
  import Documents
  import PostgresStore
  import StorageEngine
  import Synchronization

  /// A store on a server behind the reading interface, for the browser and the verbs.
  ///
  /// It takes no changes: records are written by apps, and by `strata copy`. Calls block on the network.
  final class ServedStore: ReadableStore {
    let server: ServerStore
    /// The URL, without its password.
    let path: String
    private let known = Mutex(Known())

    /// What never changes, kept so that it is asked for once.
    private struct Known {
      var commits: [UInt64: Commit] = [:]
      var bookkeeping: Set<UInt64> = []
      var counts: [Place: Int] = [:]
    }

    private struct Place: Hashable {
      var tree: Int32
      var commit: UInt64
    }

    init(_ server: ServerStore) {
      self.server = server
      path = server.url.description
    }

    /// Opens the store that a URL names.
    static func open(_ text: String) throws(ModelError) -> ServedStore {
      try onServer { () throws(ServerError) in
        ServedStore(
          try ServerStore.open(ServerURL(parsing: text), isReadOnly: true, options: ServerOptions(program: "strata")))
      }
    }

    var access: StoreAccess {
      .readOnly(
        reason:
          "this program reads stores on a server and does not change them; “strata copy” makes a file of one, and back")
    }

    var openingReport: [String] { [] }
    var head: any ReadableView { ServedView(store: self, view: server.head) }
    var writer: WriterHold? { nil }

    /// Long work that some program does under a lease.
    var activity: Activity? {
      guard let lease = (try? server.leases())?.first else { return nil }
      return Activity(title: "\(lease.what) (\(lease.program))", done: 0, total: 0, startedAt: lease.since)
    }

    var commitCount: UInt64 { (try? server.commitCount()) ?? 0 }
    var byteCount: UInt64 {
      get throws(ModelError) { try onServer { () throws(ServerError) in try server.tableBytes() } }
    }

    func refresh() throws(ModelError) -> any ReadableView {
      ServedView(store: self, view: try onServer { () throws(ServerError) in try server.refresh() })
    }

    func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject {
      server.follow(change)
    }

    func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView { try servedView(at: commit) }

    func servedView(at commit: CommitNumber) throws(ModelError) -> ServedView {
      ServedView(store: self, view: try onServer { () throws(ServerError) in try server.view(at: commit.rawValue) })
    }

    /// How many entries a tree has: counted once for each commit.
    func count(_ tree: ServerTree) throws(ModelError) -> Int {
      let place = Place(tree: tree.identifier, commit: tree.asOf)
      if let count = known.withLock({ $0.counts[place] }) { return count }
      let count = Int(clamping: try onServer { () throws(ServerError) in try tree.count() })
      known.withLock {
        if $0.counts.count > 10_000 { $0.counts.removeAll() }
        $0.counts[place] = count
      }
      return count
    }

    // MARK: Commits

    func commit(_ number: CommitNumber) throws(ModelError) -> Commit {
      if let commit = known.withLock({ $0.commits[number.rawValue] }) { return commit }
      // Its neighbours come with it: who asks for one asks for those before it.
      try load(upTo: number.rawValue)
      if let commit = known.withLock({ $0.commits[number.rawValue] }) { return commit }
      return Commit(try onServer { () throws(ServerError) in try server.commit(number.rawValue) }, changes: [])
    }

    private func load(upTo number: UInt64) throws(ModelError) {
      let commits = try onServer { () throws(ServerError) in
        try server.commits(upTo: number, limit: 256, withBookkeeping: true)
      }
      guard let oldest = commits.last?.number, let newest = commits.first?.number else { return }
      let counts = try onServer { () throws(ServerError) in try server.changeCounts(of: oldest...newest) }
      known.withLock { known in
        if known.commits.count > 100_000 { known.commits.removeAll() }
        for commit in commits {
          let changes = (counts[commit.number] ?? []).compactMap { count -> ChangeCount? in
            guard let datastore = count.tree.datastoreKey else { return nil }
            return ChangeCount(
              datastore: datastore, inserted: Int(clamping: count.inserted), updated: Int(clamping: count.updated),
              deleted: Int(clamping: count.deleted))
          }
          known.commits[commit.number] = Commit(commit, changes: changes.sorted { $0.datastore < $1.datastore })
          if commit.flags.contains(.bookkeeping) { known.bookkeeping.insert(commit.number) }
        }
      }
    }

    func commits(from newest: CommitNumber, limit: Int, folded: Bool) throws(ModelError) -> [Commit] {
      var commits: [Commit] = []
      var open: Set<CommitNumber> = newest.rawValue == 0 ? [] : [newest]
      while commits.count < limit, let number = open.max() {
        open.remove(number)
        let commit = try commit(number)
        if !folded || commit.isOfInterest { commits.append(commit) }
        open.formUnion(commit.parents.filter { $0.rawValue > 0 })
      }
      return commits
    }

    var pins: [Pin] {
      get throws(ModelError) {
        try onServer { () throws(ServerError) in try server.names() }
          .filter { !($0.key.hasPrefix("remotes/") && $0.key.hasSuffix("/common")) }
          .map { Pin(name: $0.key, commit: CommitNumber($0.value)) }.sorted { $0.name < $1.name }
      }
    }

    func resolve(_ name: String) throws(ModelError) -> CommitNumber {
      let pins = try pins
      let head = CommitNumber(server.head.commit.number)
      switch try CommitName(parsing: name, pins: pins.map(\.name)) {
      case .number(let number): return try commit(number).number
      case .pin(let pin):
        guard let pin = pins.first(where: { $0.name == pin }) else { throw .noSuchCommit(name) }
        return pin.commit
      case .stepsBeforeHead(let steps):
        if steps == 0 { return head }
        let commits = try commits(from: head, limit: min(steps, .max - 1) + 1, folded: true)
        guard commits.count > steps, let last = commits.last else {
          throw .noSuchCommit(name, reason: "the history has \(commits.count) commits")
        }
        return last.number
      case .time(let moment):
        var number: CommitNumber? = head
        while let next = number, next.rawValue > 0 {
          let commit = try commit(next)
          if commit.date <= moment { return next }
          number = commit.parents.first
        }
        throw .noSuchCommit(name, reason: "no commit is as old")
      }
    }

    // MARK: Changes

    func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader {
      let record = try self.commit(commit)
      return ServedChanges(
        from: try record.parents.first.map { number throws(ModelError) in try servedView(at: number) },
        to: try servedView(at: commit))
    }

    func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader {
      ServedChanges(from: try servedView(at: old), to: try servedView(at: new))
    }

    func versions(
      of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
    ) throws(ModelError) -> [RecordVersion] {
      let view = try servedView(at: newest)
      guard let descriptor = try view.served(datastore)?.descriptor else {
        throw .noSuchDatastore(datastore, known: try view.keys)
      }
      let found = try onServer { () throws(ServerError) in
        try view.view.versions(of: key.bytes, in: .records(of: datastore), limit: limit)
      }
      var versions: [RecordVersion] = []
      for version in found {
        versions.append(
          RecordVersion(
            commit: try commit(CommitNumber(version.commit)),
            record: try version.entry.flatMap { entry throws(ModelError) in try descriptor.record(entry) }))
      }
      return versions
    }
  }

  extension Commit {
    init(_ commit: ServerCommit, changes: [ChangeCount]) {
      let isRestore = commit.flags.contains(.restore) && !commit.flags.contains(.undo)
      self.init(
        number: CommitNumber(commit.number), parents: commit.parents.map { CommitNumber($0) }, date: commit.date,
        action: commit.action, program: commit.program, author: commit.author, changes: changes,
        undoes: commit.undoes.map { CommitNumber($0) },
        restores: isRestore ? commit.restores.map { CommitNumber($0) } : nil,
        isSquashed: commit.flags.contains(.squashed), isMaintenance: commit.flags.contains(.maintenance),
        byteCount: commit.bytes)
    }

    /// Whether a user would look for it: it changed a record, or is a merge, an undo, a restore or maintenance.
    fileprivate var isOfInterest: Bool {
      !changes.isEmpty || undoes != nil || restores != nil || parents.count > 1 || isSquashed || isMaintenance
    }
  }

  extension ModelError {
    init(_ error: ServerError) {
      switch error {
      case .invalidURL: self = .invalid(text: "", column: nil, reason: error.description)
      case .readOnly(let reason): self = .readOnly(reason: reason)
      case .noSuchCommit(let number): self = .noSuchCommit("#\(number)")
      case .prunedCommit(let number, let oldest):
        self = .noSuchCommit("#\(number)", reason: "it was removed from the history; the oldest one kept is #\(oldest)")
      case .newerFormat, .damaged: self = .storage(error.description, kind: .damaged)
      default: self = .storage(error.description, kind: .failed)
      }
    }
  }

  /// Runs what asks a server, with its errors told as the model's.
  func onServer<Value>(_ body: () throws(ServerError) -> Value) throws(ModelError) -> Value {
    do throws(ServerError) {
      return try body()
    } catch {
      throw ModelError(error)
    }
  }
#endif
