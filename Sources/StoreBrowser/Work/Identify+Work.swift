import Documents
import DatastoreModel

extension WorkContext {
  /// The record that a person means by the text of an identifier.
  func identify(datastore key: String, text: String, commit: CommitNumber) throws(ModelError) -> RecordPlace {
    let datastore = try datastore(key, at: commit)
    let identifier = try datastore.identifier(parsing: text)
    guard try datastore.record(identifier) != nil else { throw .noSuchRecord(text, datastore: key) }
    return RecordPlace(datastore: key, identifier: identifier)
  }

  /// The record that a value refers to: of the datastore that it is known to lead to, or else of another one that has this
  /// identifier, rather of that whose name is like the field's.
  func dereference(
    _ value: Document, field: String, from origin: String?, to target: String?, commit: CommitNumber
  ) throws(ModelError) -> RecordPlace {
    if let target {
      let datastore = try datastore(target, at: commit)
      guard let identifier = datastore.identifier(namedBy: value), try datastore.record(identifier) != nil else {
        throw .refused(reason: "\(target) has no record \(ValueText(literal: value).text): the reference dangles")
      }
      return RecordPlace(datastore: target, identifier: identifier)
    }
    var candidates: [RecordPlace] = []
    for datastore in try view(commit).datastores where datastore.descriptor.key != origin {
      try goOn()
      guard let identifier = datastore.identifier(namedBy: value), (try? datastore.record(identifier)) != nil,
        try datastore.record(identifier) != nil
      else { continue }
      candidates.append(RecordPlace(datastore: datastore.descriptor.key, identifier: identifier))
    }
    let name = field.lowercased()
    let best = candidates.first { name.hasPrefix($0.datastore.lowercased()) } ?? candidates.first
    guard let best else {
      guard value.isIdentifier else { throw .refused(reason: "this value is no identifier") }
      throw .refused(reason: "no other datastore has a record \(ValueText(literal: value).text)")
    }
    return best
  }
}

extension Document {
  /// Whether the value may be an identifier: a text or a number.
  fileprivate var isIdentifier: Bool {
    switch self {
    case .string, .number: true
    default: false
    }
  }
}
