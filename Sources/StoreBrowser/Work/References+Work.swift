import StrataExpressions
import StrataModel
import StrataDocuments

/// The targets of a record's references, whether they exist, and the record's joined and computed fields. The record is given as shown,
/// with its staged edit.
struct ReferencesRequest: Question {
  var readsOn: Bool { true }
  var place: RecordPlace
  var commit: CommitNumber
  var document: Document
  var naming: Naming
  /// The rows of the table, if they are of the record's datastore.
  var source: RowSource?

  /// The largest number of references that are looked up.
  static let limit = 200

  func reply(in context: WorkContext) throws(ModelError) -> ReferencesReply {
    var reply = ReferencesReply(place: place, commit: commit, targets: [:])
    if let source, source.derivesColumns {
      let whole = try DerivedFields(source, at: commit, in: context).adding(to: document)
      for path in source.joined.map(\.path) + source.computed.map(\.path) {
        guard case .member(let name)? = path.components.first, let value = whole[path] else { continue }
        reply.derived.append(Document.Member(name, value))
      }
    }
    guard let descriptor = try context.view(commit).datastore(place.datastore)?.descriptor else { return reply }
    let labels = LabelReader(context: context, commit: commit, naming: naming)
    for (path, value, target) in naming.fields(of: descriptor).values(in: document, limit: Self.limit) {
      try context.goOn()
      reply.targets[path] = try labels.target(named: value, in: target)
    }
    return reply
  }
}

struct ReferencesReply: Sendable {
  var place: RecordPlace
  var commit: CommitNumber
  /// By the path of the value in the record.
  var targets: [DocumentPath: ReferenceTarget]
  /// The joined and computed fields.
  var derived: [Document.Member] = []
}

/// The target of a reference.
package struct ReferenceTarget: Sendable, Hashable {
  package var datastore: String
  /// The label of the target record.
  package var label: String?
  /// Whether the target exists; otherwise the reference dangles.
  package var isThere: Bool
}

/// Reads the labels of records, each once.
final class LabelReader {
  private let context: WorkContext
  private let commit: CommitNumber
  private let naming: Naming
  private var datastores: [String: (any ReadableDatastore)?] = [:]
  private var known: [RecordPlace: ReferenceTarget] = [:]

  init(context: WorkContext, commit: CommitNumber, naming: Naming) {
    self.context = context
    self.commit = commit
    self.naming = naming
  }

  func target(named value: Document, in key: String) throws(ModelError) -> ReferenceTarget {
    guard let identifier = try datastore(key)?.identifier(namedBy: value) else {
      return ReferenceTarget(datastore: key, label: nil, isThere: false)
    }
    return try target(RecordPlace(datastore: key, identifier: identifier))
  }

  /// Returns the label of a record, or nil if the record does not exist or has no label.
  func label(of place: RecordPlace) throws(ModelError) -> String? { try target(place).label }

  private func target(_ place: RecordPlace) throws(ModelError) -> ReferenceTarget {
    if let found = known[place] { return found }
    var target = ReferenceTarget(datastore: place.datastore, label: nil, isThere: false)
    // A damaged record has no label, but it is there.
    if let record = try datastore(place.datastore)?.replaceable(place.identifier) {
      target.isThere = true
      if let document = try? record.document() { target.label = naming.label(of: document, in: place.datastore) }
    }
    known[place] = target
    return target
  }

  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? {
    if let found = datastores[key] { return found }
    let found = try context.view(commit).datastore(key)
    datastores.updateValue(found, forKey: key)
    return found
  }
}
