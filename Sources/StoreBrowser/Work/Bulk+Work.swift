import StrataExpressions
import StrataDocuments
package import StrataModel

/// Changes many records at once.
package struct BulkRequest: Question {
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var change: Change

  package enum Change: Sendable, Hashable {
    /// `PATH = EXPR`, or `PATH = EXPR where CONDITION`
    case set(String)
    case delete
  }

  package func reply(in context: WorkContext) throws(ModelError) -> BulkAnswer {
    var answer = BulkAnswer(
      request: self, edits: [], unchanged: 0, failures: [], nulls: 0, samples: [])
    let datastore = try context.datastore(source.datastore, at: commit)
    var assignment: Assignment?
    if case .set(let text) = change { assignment = try WorkContext.assignment(text) }
    var identifiers: [StoredKey] = []
    if case .set(let text) = change, let condition = WorkContext.parts(ofSetting: text).condition {
      identifiers = try context.identifiers(meeting: RowTest(condition), in: datastore)
    } else {
      identifiers = try context.identifiers(which, of: source, at: commit)
    }
    for (position, identifier) in identifiers.enumerated() {
      if position.isMultiple(of: 64) {
        try context.goOn()
        context.report(Progress(done: position, total: identifiers.count))
      }
      guard let record = try datastore.record(identifier) else { continue }
      guard let assignment else {
        answer.edits.append(
          RecordEdit(datastore: source.datastore, identifier: identifier, old: record.stored, new: nil))
        continue
      }
      WorkContext.set(assignment, record, in: source.datastore, answer: &answer)
    }
    return answer
  }
}

package struct BulkAnswer: Sendable {
  package var request: BulkRequest
  package var edits: [RecordEdit]
  package var unchanged: Int
  package var failures: [Failure]
  package var nulls: Int
  package var samples: [Sample]
  /// Of the new values, where they are numbers.
  package var numbers = NumberSummary()

  package struct Failure: Sendable, Hashable {
    package var identifier: StoredKey
    package var reason: String
  }

  package struct Sample: Sendable, Hashable {
    package var identifier: StoredKey
    var old: ValueText?
    var new: ValueText?
  }
}

extension WorkContext {
  static func assignment(_ text: String) throws(ModelError) -> Assignment {
    let (setting, condition) = parts(ofSetting: text)
    let assignment = try onDocument(Assignment(parsing: setting))
    guard let condition else { return assignment }
    do throws(ModelError) {
      _ = try RowTest(condition)
    } catch {
      guard case .invalid(_, let column, let reason) = error else { throw error }
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

  fileprivate func identifiers(
    meeting test: RowTest, in datastore: any ReadableDatastore
  ) throws(ModelError) -> [StoredKey] {
    let query = RecordQuery(filter: test.filter)
    var identifiers: [StoredKey] = []
    do {
      var run = try query.run(query.plan(in: datastore), in: datastore) { _ in try goOn() }
      while let found = try run.next() { identifiers.append(found.record.identifier) }
    } catch {
      throw error as? ModelError ?? .refused(reason: "\(error)")
    }
    return identifiers
  }

  fileprivate static func set(
    _ assignment: Assignment, _ record: Record, in datastore: String, answer: inout BulkAnswer
  ) {
    do {
      let old = try record.document()
      let new = try assignment.apply(to: old)
      guard new != old else {
        answer.unchanged += 1
        return
      }
      let bytes = try record.coding.encode(new, keeping: record.content)
      note(Document.difference(old, new), of: record.identifier, in: &answer)
      answer.edits.append(
        RecordEdit(
          datastore: datastore, identifier: record.identifier, old: record.stored,
          new: RecordContent(version: record.version, bytes: bytes)))
    } catch {
      answer.failures.append(BulkAnswer.Failure(identifier: record.identifier, reason: "\(error)"))
    }
  }

  fileprivate static func note(_ changes: [FieldChange], of identifier: StoredKey, in answer: inout BulkAnswer) {
    for change in changes {
      if change.new == nil || change.new == .null { answer.nulls += 1 }
      if answer.samples.count < 5 {
        answer.samples.append(
          BulkAnswer.Sample(
            identifier: identifier, old: change.old.map(ValueText.init(literal:)),
            new: change.new.map(ValueText.init(literal:))))
      }
      if let new = change.new { answer.numbers.add(new) }
    }
  }
}
