package import StrataEngine

extension EngineStore {
  package func commit(_ number: CommitNumber) throws(ModelError) -> CommitDetails {
    beginReading(.commits(from: [number], limit: 1, folded: false))
    defer { endReading() }
    return try described(commitRecord(number))
  }

  /// A commit of a view; if it was removed from the history meanwhile, as the view has it.
  package func commit(_ number: CommitNumber, in view: View) throws(ModelError) -> CommitDetails {
    do throws(ModelError) {
      return try commit(number)
    } catch {
      guard case .noSuchCommit = error, let record = try? view.record(ofCommit: number.rawValue) else { throw error }
      return CommitDetails(record)
    }
  }

  /// After a merge the page has the histories of both parents, in the order of the file, which is a valid order of both.
  package func commitPage(
    from newest: [CommitNumber], limit: Int, folded: Bool
  ) throws(ModelError) -> CommitPage {
    beginReading(.commits(from: newest, limit: limit, folded: folded))
    defer { endReading() }
    var page = CommitPage()
    var open = Set(newest.filter { $0.rawValue > 0 })
    while page.commits.count < limit, let number = open.max() {
      open.remove(number)
      do throws(ModelError) {
        let record = try commitRecord(number)
        let parents = record.parents.filter { $0 > 0 }.map { CommitNumber($0) }
        if folded, record.changesNoRecord {
          page.passed[number] = parents.first ?? CommitNumber(0)
        } else {
          page.commits.append(try described(record))
        }
        open.formUnion(parents)
      } catch {
        // The commits that were found come first; the next page begins with the error.
        guard case .storage(_, kind: .damaged) = error, !page.commits.isEmpty else { throw error }
        open.insert(number)
        break
      }
    }
    page.next = open.sorted(by: >)
    return page
  }

  package var pins: [Pin] {
    get throws(ModelError) {
      beginReading(.outline(CommitNumber(engine.head.number)))
      defer { endReading() }
      return try onStorage { try engine.names }
        // Names that an exchange keeps for the next merge, or the next fetch, are not pins of a user.
        .filter { $0.key != "head" && !($0.key.hasPrefix("remotes/") && $0.key.hasSuffix("/common")) }
        .filter { !UnfinishedFetch.isName($0.key) }
        .map { Pin(name: $0.key, commit: CommitNumber($0.value)) }
        .sorted { $0.name < $1.name }
    }
  }

  package func resolve(_ name: String) throws(ModelError) -> CommitNumber {
    beginReading(.name(name))
    defer { endReading() }
    let pins = try pins
    let head = CommitNumber(engine.head.number)
    switch try CommitName(parsing: name, pins: pins.map(\.name)) {
    case .number(let number): return try commit(number).number
    case .stepsBeforeHead(let steps): return try stepsBefore(head, steps, name: name)
    case .pin(let pin):
      guard let pin = pins.first(where: { $0.name == pin }) else { throw .noSuchCommit(name) }
      return pin.commit
    case .time(let moment):
      do {
        return CommitNumber(try engine.ancestor(of: head.rawValue, notLaterThan: moment).number)
      } catch .noCommitAsOld {
        throw .noSuchCommit(name, reason: "the oldest commit is newer")
      } catch {
        throw ModelError(error)
      }
    }
  }

  /// `head~n` is the row `n` below the newest in the history, so pins in between do not count.
  private func stepsBefore(_ head: CommitNumber, _ steps: Int, name: String) throws(ModelError) -> CommitNumber {
    if steps == 0 { return head }
    let needed = steps.addingClamped(1)
    let commits = try commits(from: head, limit: needed, folded: true)
    guard let last = commits.last, commits.count == needed else {
      throw .noSuchCommit(name, reason: "the history has \(counted(commits.count, "commit"))")
    }
    return last.number
  }

  package func commitUncounted(_ number: CommitNumber) throws(ModelError) -> CommitDetails {
    CommitDetails(try commitRecord(number))
  }

  /// Returns a commit with its counts. A commit that restored roots lists no changes of its own. If it undid a commit, its counts are that
  /// commit's, inverted. Otherwise they are counted once by a comparison with its parent, and remembered.
  private func described(_ record: CommitRecord) throws(ModelError) -> CommitDetails {
    var commit = CommitDetails(record)
    guard record.restores != nil, let parent = record.parents.first else { return commit }
    if let counts = countsTakenBack(by: record) {
      commit.changes = counts
      return commit
    }
    let restored = RestoredCommit(commit: commit.number, generation: engine.identity.generation)
    commit.changes = try restoredCounts.value(of: restored) { () throws(ModelError) in
      let reader = try changes(from: CommitNumber(parent), to: commit.number)
      return try ChangeSet.counts(reading: reader)
    }
    return commit
  }

  /// Returns nil if a comparison would be needed.
  private func countsTakenBack(by record: CommitRecord) -> [ChangeCount]? {
    var (record, isTurned) = (record, false)
    while record.restores != nil {
      guard record.flags.contains(.undo), !record.flags.contains(.squashed), let undone = record.undoes,
        let next = try? commitRecord(CommitNumber(undone)), next.listsChanges, !next.flags.contains(.squashed)
      else { return nil }
      (record, isTurned) = (next, !isTurned)
    }
    let counts = CommitDetails(record).changes
    return isTurned ? counts.map(\.takenBack) : counts
  }

  func commitRecord(_ number: CommitNumber) throws(ModelError) -> CommitRecord {
    beginReading(.commits(from: [number], limit: 1, folded: false))
    defer { endReading() }
    return try onStorage { try engine.commit(number.rawValue) }
  }
}

extension CommitDetails {
  init(_ record: CommitRecord) {
    self.init(
      number: CommitNumber(record.number),
      parents: record.parents.map { CommitNumber($0) },
      date: record.date,
      action: record.action,
      changes: record.counts.compactMap { ChangeCount($0) }.sorted { $0.datastore < $1.datastore },
      isMaintenance: record.flags.contains(.maintenance),
      byteCount: record.frameBytes)
    program = record.program
    author = record.author
    undoes = record.undoes.map { CommitNumber($0) }
    // An undo restores roots, too, and a squashed commit that contains a restore names the restored commit.
    let isRestore = record.flags.contains(.restore) && !record.flags.contains(.undo)
    restores = isRestore ? record.restores.map { CommitNumber($0) } : nil
    isSquashed = record.flags.contains(.squashed)
  }
}

extension ChangeCount {
  fileprivate init?(_ counts: ChangeCounts) {
    guard let datastore = counts.tree.datastoreKey else { return nil }
    self.init(
      datastore: datastore, inserted: Int(clamping: counts.inserted), updated: Int(clamping: counts.updated),
      deleted: Int(clamping: counts.deleted))
  }
}
