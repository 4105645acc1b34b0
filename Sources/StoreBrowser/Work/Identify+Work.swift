import StrataDocuments
import StrataModel

/// The record that a person means by the text of an identifier.
struct IdentifyRequest: Question {
  var datastore: String
  var text: String
  var commit: CommitNumber

  func reply(in context: WorkContext) throws(ModelError) -> RecordPlace {
    let stored = try context.datastore(datastore, at: commit)
    let identifier = try stored.identifier(parsing: text)
    guard try stored.record(identifier) != nil else { throw .noSuchRecord(text, datastore: datastore) }
    return RecordPlace(datastore: datastore, identifier: identifier)
  }
}

/// Asks for the last identifier of a datastore.
struct LastIdentifierRequest: Question {
  var datastore: String
  var commit: CommitNumber

  func reply(in context: WorkContext) throws(ModelError) -> KeyValue? {
    let datastore = try context.datastore(datastore, at: commit)
    let count = try datastore.count
    return try datastore.primary.entries(at: max(0, count - 1)..<count).last?.identifier.value
  }
}

/// Asks for the record that a value refers to: of the datastore that it is known to lead to, or else of another one that has this
/// identifier, rather of that whose name is like the field's.
struct FollowRequest: Question {
  var value: Document
  var field: String
  var origin: String?
  /// The datastore that the field is known to lead to.
  var target: String?
  var commit: CommitNumber

  /// Returns nil for a value that leads nowhere.
  func reply(in context: WorkContext) throws(ModelError) -> RecordPlace? {
    if let target {
      let datastore = try context.datastore(target, at: commit)
      guard let identifier = datastore.identifier(namedBy: value), try datastore.record(identifier) != nil else {
        throw .refused(reason: "\(target) has no record \(ValueText(literal: value).text): the reference dangles")
      }
      return RecordPlace(datastore: target, identifier: identifier)
    }
    var candidates: [RecordPlace] = []
    for datastore in try context.view(commit).datastores where datastore.descriptor.key != origin {
      try context.goOn()
      guard let identifier = datastore.identifier(namedBy: value), (try? datastore.record(identifier)) != nil,
        try datastore.record(identifier) != nil
      else { continue }
      candidates.append(RecordPlace(datastore: datastore.descriptor.key, identifier: identifier))
    }
    let name = field.lowercased()
    return candidates.first { name.hasPrefix($0.datastore.lowercased()) } ?? candidates.first
  }
}
