import StrataDocuments
import StrataModel

extension WorkContext {
  /// Returns the record that a value refers to: of the datastore that its field is known to lead to, or else of another one than its
  /// origin that has this identifier, rather of that whose name is like the field's. Returns nil for a value that leads nowhere.
  func place(
    of value: Document, field: String, origin: String?, target: String?, at commit: CommitNumber
  ) throws(ModelError) -> RecordPlace? {
    if let target {
      let datastore = try datastore(target, at: commit)
      guard let identifier = datastore.identifier(namedBy: value), try datastore.replaceable(identifier) != nil else {
        throw .refused(reason: "\(target) has no record \(ValueText(literal: value).text): the reference dangles")
      }
      return RecordPlace(datastore: target, identifier: identifier)
    }
    var candidates: [RecordPlace] = []
    for datastore in try view(commit).readableDatastores({ _ in }) where datastore.descriptor.key != origin {
      try goOn()
      guard let identifier = datastore.identifier(namedBy: value), (try? datastore.replaceable(identifier)) != nil
      else { continue }
      candidates.append(RecordPlace(datastore: datastore.descriptor.key, identifier: identifier))
    }
    let name = field.lowercased()
    return candidates.first { name.hasPrefix($0.datastore.lowercased()) } ?? candidates.first
  }
}
