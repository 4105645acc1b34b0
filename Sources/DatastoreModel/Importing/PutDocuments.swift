package import Documents
import StorageEngine

extension OwnStore {
  /// The changes that put documents into a datastore: each replaces the record of its identifier, or is a new one. The
  /// identifier is read from the field that was named at import, or by the app's own types.
  package func changes(putting documents: [Document], into datastore: String) throws(ModelError) -> ChangeSet {
    let view = view(engine.head)
    let present = try view.requiredDatastore(datastore)
    var changes = ChangeSet(base: view.commit)
    var places: [StoredKey: Int] = [:]
    for document in documents {
      let descriptor = present.descriptor
      let content = RecordContent(
        version: formats[datastore]?.version ?? descriptor.version,
        bytes: try onDocument(descriptor.coding.encode(document)))
      let key = descriptor.storedKey(try identifier(of: document, content, in: descriptor))
      let old = try present.record(key)?.stored
      let edit = RecordEdit(datastore: datastore, identifier: key, old: old, new: content)
      if let place = places[key] {
        changes.changes[place] = edit
      } else {
        places[key] = changes.changes.count
        changes.changes.append(edit)
      }
    }
    return changes
  }

  /// The changes that delete records; throws `ModelError.noSuchRecord` for the first that is not there.
  package func changes(
    deleting identifiers: [StoredKey], from datastore: String
  ) throws(ModelError) -> ChangeSet {
    let view = view(engine.head)
    let present = try view.requiredDatastore(datastore)
    var changes = ChangeSet(base: view.commit)
    for key in identifiers {
      guard let old = try present.record(key)?.stored else {
        throw .noSuchRecord(key.description, datastore: datastore)
      }
      let isNamedTwice = changes.changes.contains { $0.identifier == key }
      if isNamedTwice { continue }
      changes.changes.append(RecordEdit(datastore: datastore, identifier: key, old: old, new: nil))
    }
    return changes
  }

  private func identifier(
    of document: Document, _ content: RecordContent, in descriptor: DatastoreDescriptor
  ) throws(ModelError) -> [UInt8] {
    if let format = formats[descriptor.key] { return try format.keys(of: content).identifier }
    guard let text = descriptor.identifierPath else {
      throw .refused(
        reason: "\(descriptor.key) does not say which field is the identifier; only its app can put records into it")
    }
    let path = try onDocument(DocumentPath(parsing: text))
    guard let value = descriptor.identifierEncoding.keyValue(of: document[path]) else {
      throw .refused(
        reason: document[path].map {
          "the identifier \(path) is \($0.shownInSentence), which is no \(descriptor.identifierEncoding.name)"
        } ?? "\(path) is missing, which is the identifier")
    }
    return try descriptor.identifierEncoding.encode(value)
  }
}
