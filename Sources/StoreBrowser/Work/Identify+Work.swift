import StrataDocuments
import StrataModel

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
