package import Documents
import StorageEngine

extension OwnStore {
  /// The changes that put documents into a datastore: each replaces the record of its identifier, whose version it keeps, or is
  /// a new one; what is there already is no change. The identifier is read from the field that was named at import, or by the
  /// app's own types.
  ///
  /// - Parameter version: that of new records; nil: the newest.
  /// - Throws: `ModelError.refused` if a new document has not the members of the newest version.
  package func changes(
    putting documents: [Document], into datastore: String, version: String? = nil
  ) throws(ModelError) -> ChangeSet {
    let view = view(engine.head)
    let present = try view.requiredDatastore(datastore)
    let descriptor = present.descriptor
    var changes = ChangeSet(base: view.commit)
    var places: [StoredKey: Int] = [:]
    var shape: StoredShape?
    for document in documents {
      let newest = formats[datastore]?.version ?? descriptor.version
      var content = RecordContent(
        version: version ?? newest, bytes: try onDocument(descriptor.coding.encode(document)))
      let key = descriptor.storedKey(try identifier(of: document, content, in: descriptor))
      let old = try present.record(key)
      if let old {
        content.version = old.version
        if try document == old.document() { content.bytes = old.content }
      } else if version == nil {
        let known = if let shape { shape } else { try StoredShape(present) }
        shape = known
        if let reason = known.refusal(of: document) { throw .refused(reason: "\(key): \(reason)") }
      }
      let edit = RecordEdit(datastore: datastore, identifier: key, old: old?.stored, new: content)
      if let place = places[key] {
        changes.changes[place] = edit
      } else {
        places[key] = changes.changes.count
        changes.changes.append(edit)
      }
    }
    changes.changes.removeAll { $0.old == $0.new }
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
