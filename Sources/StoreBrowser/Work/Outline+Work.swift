package import StrataModel

/// A move of the head.
struct HeadMove: Sendable, Hashable {
  /// The head before; nil stands for the parent of the new one.
  var from: CommitNumber?
  var to: CommitNumber
}

/// Looks for other processes' commits.
struct RefreshRequest: Question {
  var known: CommitNumber
  /// The details of the known commit, if they were read.
  var details: CommitDetails?
  /// The commits of this browser since then.
  var own: HeadMove?
  var shown: String?

  func reply(in context: WorkContext) throws(ModelError) -> RefreshAnswer {
    let head = try context.store.isInPlace ? context.store.refresh().commit : known
    let commits = try head == known ? [] : context.store.commits(from: head, limit: 1000, folded: false)
    if isReplaced(by: head, commits, in: context) {
      var status = context.status
      status.access = .readOnly(reason: "another store took its place; quit and open it again")
      status.isInPlace = false
      return RefreshAnswer(head: known, status: status, newCommits: 0, changed: [:])
    }
    guard head != known else {
      return RefreshAnswer(head: head, status: context.status, newCommits: 0, changed: [:])
    }
    var answer = RefreshAnswer(head: head, status: context.status, newCommits: 0, changed: [:])
    for move in try movesOfOthers(to: head, in: context) where move.from != move.to {
      answer.newCommits += try context.store.commits(from: move.to, limit: 1000, folded: false)
        .prefix { $0.number > move.from ?? known }.count
      if let changed = try changedKeys(move, in: context) {
        answer.changed?.merge(changed) { $1 }
      } else {
        answer.changed = nil
      }
    }
    return answer
  }

  /// The moves of the head before and after that of this browser.
  private func movesOfOthers(to head: CommitNumber, in context: WorkContext) throws(ModelError) -> [HeadMove] {
    var from = own?.from
    if let own, from == nil { from = try context.store.commitUncounted(own.to).parents.first }
    guard let own, let from, from >= known else { return [HeadMove(from: known, to: head)] }
    return [HeadMove(from: known, to: from), HeadMove(from: own.to, to: head)]
  }

  /// The records to mark; none if the changes cannot be read: the known commit may have been removed meanwhile.
  private func changedKeys(
    _ move: HeadMove, in context: WorkContext
  ) throws(ModelError) -> [StoredKey: ChangeKind]? {
    do {
      return try context.changedKeys(from: move.from ?? known, to: move.to, in: shown)
    } catch {
      switch error {
      case .cancelled, .storage(_, kind: .unreachable): throw error
      default: return [:]
      }
    }
  }

  /// Whether another store, or an older copy of this one, has taken its place: then the known commit is missing or another.
  private func isReplaced(by head: CommitNumber, _ commits: [CommitDetails], in context: WorkContext) -> Bool {
    guard let details, details.number == known, known.rawValue > 0 else { return false }
    // A commit that was pruned or squashed meanwhile proves nothing. Head may have stepped back, and then the commit is beside it.
    guard let found = commits.first(where: { $0.number == known }) ?? (try? context.store.commitUncounted(known)) else {
      return head < known
    }
    return !found.isSquashed && found.date != details.date
  }
}

/// Finds the commit that a name means.
struct ResolveRequest: Question {
  var name: String

  func reply(in context: WorkContext) throws(ModelError) -> CommitNumber { try context.store.resolve(name) }
}

/// The result of a look for other processes' commits.
package struct RefreshAnswer: Sendable {
  package var head: CommitNumber
  package var status: StoreStatus
  /// Commits since the known one.
  package var newCommits: Int
  /// Their changes in the shown datastore; nil if there were too many to list.
  package var changed: [StoredKey: ChangeKind]?
}

extension WorkContext {
  /// Finds the commit that is some rows of the history newer (positive) or older.
  func commit(_ lines: Int, from commit: CommitNumber, head: CommitNumber) throws(ModelError) -> CommitNumber {
    if lines < 0 {
      let older = try store.commits(from: commit, limit: 1 - lines, folded: true)
      // If `commit` itself is folded, the first commit returned is already older.
      if let first = older.first, first.number != commit { return first.number }
      guard let last = older.last, last.number != commit else {
        throw .noSuchCommit("\(commit)", reason: "there is none before it")
      }
      return last.number
    }
    // Commits know only their parents, so the nearest of the newer ones are collected.
    var nearest: [CommitNumber] = []
    var open = [head]
    while !open.isEmpty {
      try goOn()
      let page = try store.commitPage(from: open, limit: 200, folded: true)
      nearest = Array((nearest + page.commits.map(\.number).filter { $0 > commit }).suffix(lines))
      open = page.next.filter { $0 > commit }
    }
    return nearest.first ?? head
  }

  func outline(at number: CommitNumber) throws(ModelError) -> Outline {
    let view = try view(number)
    var (datastores, unreadable): ([Outline.Datastore], [String: String]) = ([], [:])
    for key in try view.datastoreKeys {
      do throws(ModelError) {
        if let datastore = try view.datastore(key) { datastores.append(try Outline.Datastore(datastore)) }
      } catch {
        guard error.exitStatus == 3 else { throw error }
        unreadable[key] = error.description
      }
    }
    let commit = try number.rawValue == 0 ? CommitDetails.beginning : store.commitUncounted(number)
    return Outline(
      commit: commit, datastores: datastores, unreadable: unreadable, pins: try store.pins,
      byteCount: try? store.byteCount, history: HistorySize(of: store))
  }

  /// How many changed records are marked after other processes' commits.
  static var changeMarkLimit: Int { 2000 }

  fileprivate func changedKeys(
    from old: CommitNumber, to new: CommitNumber, in datastore: String?
  ) throws(ModelError) -> [StoredKey: ChangeKind]? {
    guard let datastore else { return [:] }
    let reader = try store.changes(from: old, to: new)
    var changed: [StoredKey: ChangeKind] = [:]
    var read = 0
    while case let changes = try reader.next(200), !changes.isEmpty {
      try goOn()
      for change in changes where change.datastore == datastore {
        changed[change.identifier] = change.kind
      }
      read += changes.count
      if read > Self.changeMarkLimit { return nil }
    }
    return changed
  }
}

extension Outline.Datastore {
  fileprivate init(_ datastore: any ReadableDatastore) throws(ModelError) {
    self.init(
      descriptor: datastore.descriptor, count: try datastore.count,
      indexes: try datastore.indexes.map { index throws(ModelError) in
        Outline.Index(descriptor: index.descriptor, count: try index.count)
      }, leftOut: try datastore.leftOut(limit: 100), leftOutCount: try datastore.leftOutCount,
      compressedText: datastore.compressedText)
  }
}

extension CommitDetails {
  /// The state before the first commit.
  fileprivate static let beginning = CommitDetails(number: CommitNumber(0), parents: [], date: 0, action: "")
}
