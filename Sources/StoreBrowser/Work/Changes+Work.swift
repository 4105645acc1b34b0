import StrataDocuments
package import StrataModel

/// The source of the shown difference.
package enum DifferenceSource: Sendable, Hashable {
  /// The changes of a commit relative to its first parent.
  case commit(CommitNumber)
  case between(CommitNumber, CommitNumber)
}

/// Reads the next changes of a difference. The reader continues after the previous page.
package struct ChangesRequest: Question {
  package var source: DifferenceSource
  /// Only the changes of this record, if the history is a record's.
  package var place: RecordPlace?
  package var reader: (any ChangeReader)?
  package var limit: Int
  package var naming = Naming()

  package func reply(in context: WorkContext) throws(ModelError) -> ChangesAnswer {
    let (old, new): (CommitNumber?, CommitNumber)
    let reader: any ChangeReader
    switch source {
    case .commit(let number):
      (old, new) = (try context.store.commitUncounted(number).parents.first, number)
      if let open = self.reader { reader = open } else { reader = try context.store.changes(of: number) }
    case .between(let from, let to):
      (old, new) = (from, to)
      if let open = self.reader { reader = open } else { reader = try context.store.changes(from: from, to: to) }
    }
    var rows: [ChangeRow] = []
    var isAtEnd = false
    while rows.count < limit, !isAtEnd {
      try context.goOn()
      let changes = try reader.next(limit - rows.count)
      isAtEnd = changes.isEmpty
      for change in changes {
        guard place == nil || place == change.place else { continue }
        rows.append(WorkContext.row(of: change, naming))
        if place == change.place { isAtEnd = true }
      }
    }
    return ChangesAnswer(source: source, old: old, new: new, reader: reader, rows: rows, isAtEnd: isAtEnd)
  }
}

package struct ChangesAnswer: Sendable {
  package var source: DifferenceSource
  package var old: CommitNumber?
  package var new: CommitNumber
  package var reader: any ChangeReader
  package var rows: [ChangeRow]
  package var isAtEnd: Bool
}

/// A changed record; its fields are read when it is unfolded.
package struct ChangeRow: Sendable, Hashable {
  package var place: RecordPlace
  package var kind: ChangeKind
  /// The number of changed fields; nil if the content is not a document.
  package var fieldCount: Int?
  package var label: String?
  package var onlyField: FieldRow?
}

/// Reads the fields of a changed record.
struct FieldsRequest: Question {
  var old: CommitNumber?
  var new: CommitNumber
  var place: RecordPlace
  var head: CommitNumber

  func reply(in context: WorkContext) throws(ModelError) -> [FieldRow] {
    let change = RecordChange(
      datastore: place.datastore, identifier: place.identifier,
      old: try old.flatMap { commit throws(ModelError) in try context.replaceable(place, at: commit) },
      new: try context.replaceable(place, at: new))
    let record = new == head ? change.new : try context.replaceable(place, at: head)
    guard let old = try? change.old?.document() ?? .object([]), let new = try? change.new?.document() ?? .object([])
    else { return change.fieldRows() }
    let now = try? record?.document()
    var rows: [FieldRow] = []
    for change in Document.difference(old, new) {
      // An element that was removed has no place in a later list.
      let isGone = if change.new == nil, case .index? = change.path.components.last { true } else { false }
      let present = now == new ? change.new : isGone ? nil : new.value(at: change.path, in: now)
      var row = FieldRow(change)
      row.now = record?.damage.map(ValueText.init(unreadable:)) ?? present.map(ValueText.init(literal:))
      row.changedLater = present != change.new
      rows.append(row)
    }
    return rows
  }
}

extension Session {
  /// Copies a field of a record as of a commit. A pane shows only the beginning of it.
  mutating func copy(_ path: String, of place: RecordPlace, at commit: CommitNumber) {
    let value = Inquiry { context throws(ModelError) in
      try context.document(of: place, at: commit)?[WorkContext.path(path)]
    }
    start(WorkSlot(name: "field-value"), value) { $0.session.copy($1) }
  }
}

/// A changed field with its values, and its present value for the three-way view.
package struct FieldRow: Sendable, Hashable {
  package var path: String
  var old: ValueText?
  var new: ValueText?
  var now: ValueText?
  /// Whether the field changed again after the difference.
  package var changedLater = false
}

extension FieldRow {
  init(_ change: FieldChange) {
    self.init(
      path: change.path.description, old: change.old.map(ValueText.init(literal:)),
      new: change.new.map(ValueText.init(literal:)))
  }
}

extension RecordChange {
  /// The changed fields. If one of the contents cannot be read, the record is one field that says so.
  func fieldRows() -> [FieldRow] {
    do {
      return Document.difference(try old?.document() ?? .object([]), try new?.document() ?? .object([]))
        .map(FieldRow.init)
    } catch {
      let (old, new) = (old.map(ValueText.init(literal:)), new.map(ValueText.init(literal:)))
      return [FieldRow(path: "\(DocumentPath.root)", old: old, new: new)]
    }
  }
}

extension ValueText {
  init(unreadable error: ModelError) { self.init(text: "cannot be read: \(error)", kind: .problem) }

  fileprivate init(literal record: Record) {
    do throws(ModelError) {
      self.init(literal: try record.document())
    } catch {
      self.init(unreadable: error)
    }
  }
}

extension WorkContext {
  fileprivate static func row(of change: RecordChange, _ naming: Naming) -> ChangeRow {
    let (old, new) = (try? change.old?.document(), try? change.new?.document())
    let label = (new ?? old).flatMap { naming.label(of: $0, in: change.datastore) }
    var row = ChangeRow(place: change.place, kind: change.kind, label: label)
    if change.damage != nil { row.onlyField = change.fieldRows().first }
    guard let old, let new else { return row }
    let fields = Document.difference(old, new)
    row.fieldCount = fields.count
    if fields.count == 1 { row.onlyField = FieldRow(fields[0]) }
    return row
  }

  func document(of place: RecordPlace, at commit: CommitNumber) throws(ModelError) -> Document? {
    try replaceable(place, at: commit)?.document()
  }

  fileprivate func replaceable(_ place: RecordPlace, at commit: CommitNumber) throws(ModelError) -> Record? {
    try view(commit).datastore(place.datastore)?.replaceable(place.identifier)
  }
}
