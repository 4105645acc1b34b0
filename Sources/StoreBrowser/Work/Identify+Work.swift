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

  /// The record that a value refers to: one of another datastore with this identifier, rather of the datastore whose
  /// name is like the field's.
  func dereference(
    _ value: Document, field: String, from origin: String?, commit: CommitNumber
  ) throws(ModelError) -> RecordPlace {
    let text: String
    switch value {
    case .string(let string): text = JSONWriter.literal(string)
    case .number(let number): text = number.text
    default: throw .refused(reason: "this value is no identifier")
    }
    var candidates: [RecordPlace] = []
    for datastore in try view(commit).datastores where datastore.descriptor.key != origin {
      try goOn()
      guard let identifier = try? datastore.identifier(parsing: text),
        (try? datastore.record(identifier)) != nil, try datastore.record(identifier) != nil
      else { continue }
      candidates.append(RecordPlace(datastore: datastore.descriptor.key, identifier: identifier))
    }
    let name = field.lowercased()
    let best = candidates.first { name.hasPrefix($0.datastore.lowercased()) } ?? candidates.first
    guard let best else { throw .refused(reason: "no other datastore has a record \(text)") }
    return best
  }
}
