package import StrataDocuments
import StrataEngine

extension EngineStore {
  /// Returns the changes that put documents into a datastore. Each document replaces the record of its identifier, and keeps its version,
  /// or is a new record; an equal record is not changed. The identifier is read from the field named at import, or by the app's own types.
  ///
  /// - Parameter version: the version of new records; nil for the newest.
  /// - Throws: `ModelError.refused` if a new document does not have the members of the newest version.
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

  private func identifier(
    of document: Document, _ content: RecordContent, in descriptor: DatastoreDescriptor
  ) throws(ModelError) -> [UInt8] {
    if let format = formats[descriptor.key] { return try format.keys(of: content).identifier }
    guard let text = descriptor.identifierPath else {
      throw .refused(
        reason: "\(descriptor.key) does not say which field is the identifier; only its app can put records into it")
    }
    return try descriptor.identifierEncoding.identifier(of: document, at: onDocument(DocumentPath(parsing: text)))
  }
}

extension KeyEncoding {
  func identifier(of document: Document, at path: DocumentPath) throws(ModelError) -> [UInt8] {
    guard let field = document[path], field != .null else {
      throw .refused(reason: "\(path) is missing, which is the identifier")
    }
    guard let value = keyValue(of: field) else {
      throw .refused(reason: "the identifier \(path) is \(field.shownInSentence), which is no \(name)")
    }
    return try encode(value)
  }
}
