import StrataExpressions
import StrataDocuments
package import StrataModel

/// Changes many records at once.
package struct BulkRequest: Question, Equatable {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var change: Change
  /// The staged new records beside them.
  var new: [StoredKey] = []
  /// The staged edits, which are changed further.
  package var staged: [RecordPlace: RecordEdit] = [:]

  package enum Change: Sendable, Hashable {
    /// `PATH = EXPR`, or `PATH = EXPR where CONDITION`
    case set(String)
    case paste(PastedCells)
    case delete
  }

  private var isBlock: Bool { if case .paste = change { true } else { false } }

  package func reply(in context: WorkContext) throws(ModelError) -> BulkAnswer {
    var answer = BulkAnswer(request: self)
    let datastore = try context.datastore(source.datastore, at: commit)
    var assignment: Assignment?
    if case .set(let text) = change { assignment = try settable(text, in: datastore.descriptor) }
    let path = assignment?.path
    // Found out at the first result with a fraction that is to replace an integer.
    lazy var hasFractions = path.flatMap { try? context.hasFractions(at: $0, in: datastore) } ?? false
    var identifiers: [StoredKey] = []
    if case .set(let text) = change, let condition = WorkContext.parts(ofSetting: text).condition {
      let test = try Filter(typed: condition)
      identifiers = try context.identifiers(meeting: test, in: datastore)
      identifiers += new.filter { identifier in
        let content = staged[RecordPlace(datastore: source.datastore, identifier: identifier)]?.new
        return content.flatMap { try? datastore.descriptor.document(of: $0) }.map(test.matches) ?? false
      }
    } else {
      identifiers = try context.identifiers(which, of: source, at: commit, repeats: isBlock) + new
    }
    var seen: Set<StoredKey> = []
    for (position, identifier) in identifiers.enumerated() {
      if position.isMultiple(of: 64) {
        try context.goOn()
        context.report(Progress(done: position, total: identifiers.count))
      }
      // Each row of a block is for its row of the table, and along an index with many values a record may be in several.
      guard !isBlock || seen.insert(identifier).inserted else {
        answer.failures.append(
          .init(subject: "row \(position + 1) of the block", reason: "\(identifier) stands above already"))
        continue
      }
      let place = RecordPlace(datastore: source.datastore, identifier: identifier)
      let record = try datastore.replaceable(identifier)
      let stored = record?.stored
      guard stored != nil || staged[place] != nil else { continue }
      if let damage = record?.damage, staged[place] == nil, change != .delete {
        answer.failures.append(.init(subject: "\(identifier)", reason: "\(damage)"))
        continue
      }
      let edit = RecordEdit.begun(at: place, over: stored, staged[place], datastore.descriptor)
      answer.add(edit, stored, datastore.descriptor, change, assignment, row: position) { hasFractions }
    }
    if case .paste(let cells) = change {
      for row in cells.present..<cells.rows.count {
        answer.failures.append(
          .init(subject: "row \(row + 1) of the block", reason: "there is no record below the last"))
      }
    }
    return answer
  }

  /// The assignment of `PATH = EXPR where CONDITION`. Throws if it sets the identifier, or needs a column that no record has stored.
  private func settable(_ text: String, in descriptor: DatastoreDescriptor) throws(ModelError) -> Assignment {
    let assignment = try WorkContext.assignment(text)
    if assignment.path.description == descriptor.identifierPath {
      throw .refused(reason: "the identifier \(assignment.path.shortText) stays; D makes a copy under another one")
    }
    var paths = [assignment.path] + assignment.paths
    if let condition = WorkContext.parts(ofSetting: text).condition { paths += try Filter(typed: condition).paths }
    for path in paths {
      if let reason = source.derivation(of: path) { throw .refused(reason: "\(path.shortText): \(reason)") }
    }
    return assignment
  }
}

package struct BulkAnswer: Sendable {
  package var request: BulkRequest
  package var edits: [RecordEdit] = []
  package var unchanged = 0
  package var failures: [Failure] = []
  package var nulls = 0
  package var samples: [Sample] = []
  /// The new values of each field that are numbers.
  var numbers: [DocumentPath: NumberSummary] = [:]

  package struct Failure: Sendable, Hashable {
    /// The record, or the row of a block.
    package var subject: String
    package var reason: String
  }

  package struct Sample: Sendable, Hashable {
    package var identifier: StoredKey
    var path: DocumentPath
    var old: ValueText?
    var new: ValueText?
  }

  /// The largest number of changes that the preview lists.
  static let sampleLimit = 500
}

extension WorkContext {
  static func assignment(_ text: String) throws(ModelError) -> Assignment {
    let (setting, condition) = parts(ofSetting: text)
    let assignment = try onDocument(Assignment(parsing: setting))
    guard let condition else { return assignment }
    do throws(ModelError) {
      _ = try Filter(typed: condition)
    } catch .invalid(_, let column, let reason) {
      let start = text.count - condition.count
      throw .invalid(text: text, column: column.map { $0 + start }, reason: reason)
    }
    return assignment
  }

  /// The two parts of `PATH = EXPR where CONDITION`.
  static func parts(ofSetting text: String) -> (setting: String, condition: String?) {
    guard let (setting, condition) = text.splitOutsideQuotes(at: " where ") else { return (text, nil) }
    return (setting, condition)
  }

  /// Whether a record has a number with a fraction in a field. Reads records up to the first one.
  fileprivate func hasFractions(
    at path: DocumentPath, in datastore: any ReadableDatastore
  ) throws(ModelError) -> Bool {
    var records = try datastore.records(at: 0..<datastore.count)
    let selection = DocumentSelection([path])
    while try records.next() {
      try goOn()
      let document = try records.rawRecord().flatMap { try? $0.document(at: selection) }
      if case .number(let number)? = document?[path], !number.isInteger { return true }
    }
    return false
  }

  fileprivate func identifiers(
    meeting test: Filter, in datastore: any ReadableDatastore
  ) throws(ModelError) -> [StoredKey] {
    let query = RecordQuery(filter: test)
    return try onFailures {
      var run = try query.run(query.plan(in: datastore), in: datastore) { _ in try goOn() }
      var identifiers: [StoredKey] = []
      while let record = try run.next() { identifiers.append(record.identifier) }
      return identifiers
    }
  }
}

extension BulkAnswer {
  /// Changes one record, or says why it stays.
  fileprivate mutating func add(
    _ begun: RecordEdit, _ stored: RecordContent?, _ descriptor: DatastoreDescriptor, _ change: BulkRequest.Change,
    _ assignment: Assignment?, row: Int, _ hasFractions: () -> Bool
  ) {
    do throws(DocumentError) {
      if change == .delete {
        var edit = begun
        (edit.old, edit.new) = (stored, nil)
        edits.append(edit)
        return
      }
      guard begun.new != nil else { throw .refused(reason: "it is staged for deletion") }
      let changed = try begun.changing(descriptor) { document throws(DocumentError) in
        if case .paste(let cells) = change { return try cells.put(cells.rows[row], into: document) }
        return try assignment?.apply(to: document, hasFractions: hasFractions) ?? document
      }
      guard let changed else {
        unchanged += 1
        return
      }
      count(Document.difference(changed.before, changed.after), of: begun.identifier)
      edits.append(changed.edit)
    } catch { failures.append(Failure(subject: "\(begun.identifier)", reason: "\(error)")) }
  }

  private mutating func count(_ changes: [FieldChange], of identifier: StoredKey) {
    for change in changes {
      if change.new == nil || change.new == .null { nulls += 1 }
      if samples.count < Self.sampleLimit {
        samples.append(
          Sample(
            identifier: identifier, path: change.path, old: change.old.map(ValueText.init(literal:)),
            new: change.new.map(ValueText.init(literal:))))
      }
      if let new = change.new { numbers[change.path, default: NumberSummary()].add(new) }
    }
  }
}
