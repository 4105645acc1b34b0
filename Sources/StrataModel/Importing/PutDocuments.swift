package import StrataDocuments
import StrataEngine

extension EngineStore {
  /// Returns the changes that put documents into a datastore. Each document replaces the record of its identifier, and keeps its version,
  /// or is a new record; an equal record is not changed. The identifier is read from the field named at import, or by the app's own types.
  ///
  /// - Parameters:
  ///   - places: the places of the documents, for errors; empty if they have none.
  ///   - version: the version of new records; nil for the newest.
  ///   - onRepeat: receives a sentence for each document that replaces an earlier one of the same identifier.
  /// - Throws: `ModelError.refused` if a new document does not have the members of the newest version.
  package func changes(
    putting documents: [Document], from places: [SourcePlace] = [], into datastore: String, version: String? = nil,
    onRepeat: (String) -> Void = { _ in }
  ) throws(ModelError) -> ChangeSet {
    let view = view(engine.head)
    let present = try view.requiredDatastore(datastore)
    let descriptor = present.descriptor
    var changes = ChangeSet(base: view.commit)
    var known: [StoredKey: (edit: Int, row: Int)] = [:]
    var shape: StoredShape?
    for (row, document) in documents.enumerated() {
      let place = row < places.count ? "\(places[row]): " : ""
      let newest = formats[datastore]?.version ?? descriptor.version
      var content = RecordContent(
        version: version ?? newest, bytes: try onDocument(descriptor.coding.encode(document)))
      let key: StoredKey
      do throws(ModelError) {
        key = descriptor.storedKey(try identifier(of: document, content, in: descriptor))
      } catch .refused(let reason) {
        throw .refused(reason: place + reason)
      }
      let old = try present.replaceable(key)
      if let old, old.stored != .damaged {
        content.version = old.version
        if try document == old.document() { content.bytes = old.content }
      } else if version == nil {
        let newest = if let shape { shape } else { try StoredShape(present) }
        shape = newest
        if let reason = newest.refusal(of: document) { throw .refused(reason: "\(place)\(key): \(reason)") }
      }
      let edit = RecordEdit(datastore: datastore, identifier: key, old: old?.stored, new: content)
      if let earlier = known[key] {
        changes.changes[earlier.edit] = edit
        let first = earlier.row < places.count ? ": \(places[earlier.row]), \(places[row])" : ""
        onRepeat("identifier \(key) is in 2 documents, of which the last counts\(first)")
        known[key]?.row = row
      } else {
        known[key] = (changes.changes.count, row)
        changes.changes.append(edit)
      }
    }
    changes.changes.removeAll { $0.old == $0.new }
    return changes
  }

  /// Makes the types of a table's columns those of a datastore's values, whatever the cells look like.
  package func setTypes(of source: inout TableSource, to datastore: String) throws(ModelError) {
    guard source.guessedColumns != nil, let shape = try shape(of: datastore) else { return }
    source.follow(shape, identifier: try shape.identifierField)
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
  /// Returns the stored identifier of a document; throws `ModelError.refused` if it has none of this type.
  package func identifier(of document: Document, at path: DocumentPath) throws(ModelError) -> [UInt8] {
    guard let field = document[path], field != .null else {
      var reason = "\(path) is \(document[path] == nil ? "missing" : "null"), which is the identifier"
      let wanted = path.shortText.lowercased()
      if case .object(let members) = document, let other = members.first(where: { $0.name.lowercased() == wanted }),
        document[path] == nil
      {
        reason += "; case counts, and there is \(other.name)"
      }
      throw .refused(reason: reason)
    }
    guard let value = keyValue(of: field) else {
      throw .refused(reason: "the identifier \(path) is \(field.shownInSentence), which is not a valid \(name)")
    }
    return try encode(value)
  }
}
