package import StrataDocuments
package import StrataModel

/// Documents that came back from an editor, to be made edits of the records that they are.
package struct EditedDocumentsRequest: Question {
  package var datastore: String
  package var commit: CommitNumber
  package var documents: [Document]
  /// The edits that were opened, in order; those without identifier bytes are of new records, and say the version of what is made of them.
  package var opened: [RecordEdit]
  /// The identifiers of the staged new records.
  package var inserted: Set<StoredKey>
  package var identifierPath: String?

  package func reply(in context: WorkContext) throws(ModelError) -> [RecordEdit] {
    let datastore = try context.datastore(datastore, at: commit)
    let path = try identifierPath.map { text throws(ModelError) in try WorkContext.path(text) }
    var places: [[UInt8]: Int] = [:]
    for (position, edit) in opened.enumerated() {
      guard let path, let content = edit.new, !edit.identifier.bytes.isEmpty else { continue }
      try onDocument(datastore.descriptor.document(of: content))[path].map { places[$0.sortKey] = position }
    }
    var (edits, taken) = ([RecordEdit](), inserted.subtracting(opened.map(\.identifier)))
    var added = opened[0].identifier.bytes.isEmpty ? documents.count : documents.count - opened.count
    for (position, document) in documents.enumerated() {
      try context.goOn()
      let known = path.flatMap { document[$0] }.flatMap { places[$0.sortKey] }
      let isNew = known == nil && added > 0
      if isNew { added -= 1 }
      // Without its identifier a document is known by its line alone.
      guard known != nil || isNew || documents.count == opened.count else {
        throw .refused(reason: "document \(position + 1) has the identifier of no opened record")
      }
      let begun = opened[min(known ?? position, opened.count - 1)]
      let edit = isNew ? try begun.inserting(document, identifiedBy: path, into: datastore) : begun
      guard taken.insert(edit.identifier).inserted else {
        throw .refused(
          reason: "\(edit.identifier) is a staged record, or twice in this text; give this one another identifier")
      }
      let changed = isNew ? edit : try edit.continued(to: document, identifiedBy: path, datastore.descriptor)
      if let changed { edits.append(changed) }
    }
    return edits
  }
}

extension RecordEdit {
  /// Returns the edit with another document; nil if it has that already.
  fileprivate func continued(
    to document: Document, identifiedBy path: DocumentPath?, _ descriptor: DatastoreDescriptor
  ) throws(ModelError) -> RecordEdit? {
    let changed = try onDocument(changing(descriptor) { _ throws(DocumentError) in document })
    guard let changed else { return nil }
    if let path, let before = changed.before[path], document[path] != before {
      throw .refused(reason: "the identifier stays \(identifier); D makes a copy under another one")
    }
    return changed.edit
  }

  /// Returns the insertion of another document, in the version of this one.
  fileprivate func inserting(
    _ document: Document, identifiedBy path: DocumentPath?, into datastore: any ReadableDatastore
  ) throws(ModelError) -> RecordEdit {
    let descriptor = datastore.descriptor
    guard let path else {
      throw .refused(reason: "it is not known which field is the identifier of \(descriptor.key)")
    }
    // Of a type that only the app can order, the text is all there is.
    let encoding = descriptor.identifierEncoding
    let identifier =
      if let field = document[path], !encoding.isByteOrdered {
        try datastore.identifier(parsing: field.compactJSON)
      } else {
        descriptor.storedKey(try encoding.identifier(of: document, at: path))
      }
    guard try datastore.replaceable(identifier) == nil else {
      throw .refused(
        reason: "\(descriptor.key) has a record \(identifier) already; give the new one another \(path.shortText)")
    }
    var edit = RecordEdit(datastore: descriptor.key, identifier: identifier, old: nil, new: new)
    edit.new?.bytes = try onDocument(descriptor.coding.encode(document))
    return edit
  }
}
