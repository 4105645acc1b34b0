package import StrataDocuments
package import StrataModel

package struct RecordRequest: Question, Hashable {
  package var place: RecordPlace
  package var commit: CommitNumber

  package func reply(in context: WorkContext) throws(ModelError) -> RecordAnswer {
    let record = try context.view(commit).datastore(place.datastore)?.record(place.identifier)
    return record.map { RecordAnswer(self, $0) } ?? RecordAnswer(request: self)
  }
}

package struct RecordAnswer: Sendable, Equatable {
  package var request: RecordRequest
  /// Nil if the record does not exist at that commit.
  package var record: Record?
  package var document: Document?
  /// Why the content could not be read as a document.
  package var problem: String?
}

extension RecordAnswer {
  /// Makes the answer for a record that has been read.
  init(_ request: RecordRequest, _ record: Record) {
    self.init(request: request, record: record)
    do throws(ModelError) { document = try record.document() } catch { problem = error.description }
  }
}

/// Finds the places at which there are records.
struct TakenRequest: Question {
  static let slot = WorkSlot(name: "taken")
  var places: [RecordPlace]
  var commit: CommitNumber

  func reply(in context: WorkContext) throws(ModelError) -> Set<RecordPlace> {
    let view = try context.view(commit)
    var taken: Set<RecordPlace> = []
    for (key, places) in Dictionary(grouping: places, by: \.datastore) {
      guard let datastore = try view.datastore(key) else { continue }
      for place in places {
        try context.goOn()
        if try datastore.replaceable(place.identifier) != nil { taken.insert(place) }
      }
    }
    return taken
  }
}

/// Reads the records for a command: marked ones, or rows of the table.
package struct GatherRequest: Question {
  package var commit: CommitNumber
  package var source: RowSource
  package var which: Which
  package var purpose: Purpose
  /// The staged new records beside them.
  var new: [StoredKey] = []
  /// The commit to which the ranks belong, if it is another one.
  var listed: CommitNumber?
  /// The staged changes, if many records are to be added to them: that is done on the reading thread.
  package var staged: StagedChanges?
  package var stagedRevision = 0

  package enum Which: Sendable, Equatable {
    case identifiers([StoredKey])
    /// Ranks in the index of the source.
    case ranks(RowRanks)
  }

  package enum Purpose: Sendable, Hashable {
    case delete, duplicate, copy, editExternally, restore(from: CommitNumber)
    case restoreField(path: DocumentPath, from: CommitNumber)
    /// To be mended in the editor, with the reason why it needs mending.
    case mend(reason: String)

    /// Whether staged changes are included: new records, and edits of stored ones.
    var takesStaged: Bool { self == .duplicate || self == .copy }

    /// The commit whose state comes back.
    var restored: CommitNumber? {
      switch self {
      case .restore(let commit), .restoreField(_, let commit): commit
      default: nil
      }
    }
  }

  /// The records that were chosen one by one, of which new ones are not stored.
  var chosen: [StoredKey] { if case .identifiers(let identifiers) = which { identifiers } else { new } }

  package func reply(in context: WorkContext) throws(ModelError) -> GatherAnswer {
    var answer = GatherAnswer(request: self)
    let identifiers = try context.identifiers(which, of: source, at: listed ?? commit)
    answer.records = try context.records(identifiers, in: source.datastore, at: purpose.restored ?? commit)
    if purpose.restored != nil {
      for record in try context.records(identifiers, in: source.datastore, at: commit) {
        answer.present[record.identifier] = record
      }
    }
    // A damaged record can be deleted like any other.
    for record in answer.records where purpose != .delete {
      try context.goOn()
      do throws(ModelError) { _ = try record.document() } catch {
        answer.unreadable[record.identifier] = error.description
      }
    }
    if purpose == .delete, var staged = staged {
      staged.add(.deleting(answer.records, of: chosen, in: source.datastore, over: staged))
      try context.goOn()
      answer.staged = staged
    }
    return answer
  }
}

package struct GatherAnswer: Sendable {
  package var request: GatherRequest
  package var records: [Record] = []
  /// Why some of them cannot be read.
  var unreadable: [StoredKey: String] = [:]
  /// For restores: the present records, by identifier.
  package var present: [StoredKey: Record] = [:]
  /// The staged changes with the requested step, if there were many records and the request brought the staged changes.
  package var staged: StagedChanges?
}

extension WorkContext {
  /// Returns other records that have a value in indexes that are to have one record for each.
  func holders(
    of value: Document, in indexes: [String], besides place: RecordPlace, at commit: CommitNumber
  ) throws(ModelError) -> [StoredKey] {
    let datastore = try datastore(place.datastore, at: commit)
    var holders: [StoredKey] = []
    for name in indexes {
      let index = try datastore.index(name)
      guard let key = index.descriptor.encoding.keyValue(of: value) else { continue }
      let ranks = try Self.bounds(of: KeyInterval(lower: .including(key), upper: .including(key)), in: index)
      holders += try index.entries(at: ranks.prefix(16)).map(\.identifier)
    }
    return holders.filter { $0 != place.identifier }
  }

  /// - Parameter repeats: Whether a record comes once for each of its rows.
  func identifiers(
    _ which: GatherRequest.Which, of source: RowSource, at commit: CommitNumber, repeats: Bool = false
  ) throws(ModelError) -> [StoredKey] {
    switch which {
    case .identifiers(let identifiers): return identifiers
    case .ranks(let ranks):
      let index = try datastore(source.datastore, at: commit).index(source.index)
      var seen: Set<StoredKey> = []
      return try entries(at: Array(ranks), of: index).map(\.entry.identifier)
        .filter { repeats || seen.insert($0).inserted }
    }
  }

  fileprivate func records(
    _ identifiers: [StoredKey], in key: String, at commit: CommitNumber
  ) throws(ModelError) -> [Record] {
    guard let datastore = try view(commit).datastore(key) else { return [] }
    var records: [Record] = []
    // Short reads show no progress, and the keys after them wait for the reply.
    let word = ContinuousClock.now + .milliseconds(250)
    for (position, identifier) in identifiers.enumerated() {
      try goOn()
      if position.isMultiple(of: 256), ContinuousClock.now > word {
        report(Progress(done: position, total: identifiers.count))
      }
      if let record = try datastore.replaceable(identifier) { records.append(record) }
    }
    return records
  }
}
