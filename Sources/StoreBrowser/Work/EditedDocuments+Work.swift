package import StrataDocuments
package import StrataModel

/// Documents that came back from an editor, to be made edits of the records that they are.
package struct EditedDocumentsRequest: Question {
  package var datastore: String
  package var commit: CommitNumber
  package var documents: [Document]
  /// The edits that were opened, in order; those without identifier bytes are of new records, and say the version of what is made of them.
  package var opened: [RecordEdit]
  package var identifierPath: String?

  package func reply(in context: WorkContext) throws(ModelError) -> [RecordEdit] {
    let datastore = try context.datastore(datastore, at: commit)
    let path = try identifierPath.map { text throws(ModelError) in try WorkContext.path(text) }
    var edits: [RecordEdit] = []
    for (position, document) in documents.enumerated() {
      try context.goOn()
      guard let edit = position < opened.count ? opened[position] : opened.last else { continue }
      if position >= opened.count || edit.identifier.bytes.isEmpty {
        edits.append(try edit.inserting(document, identifiedBy: path, into: datastore))
      } else if let changed = try edit.continued(to: document, identifiedBy: path, datastore.descriptor) {
        edits.append(changed)
      }
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
    if let path, let value = document[path], let before = changed.before[path], value != before {
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
    guard let value = document[path] else {
      throw .refused(reason: "the identifier \(path.shortText) is missing")
    }
    let identifier = try datastore.identifier(parsing: value.compactJSON)
    guard try datastore.record(identifier) == nil else {
      throw .refused(
        reason: "\(descriptor.key) has a record \(identifier) already; give the new one another \(path.shortText)")
    }
    var edit = RecordEdit(datastore: descriptor.key, identifier: identifier, old: nil, new: new)
    edit.new?.bytes = try onDocument(descriptor.coding.encode(document))
    return edit
  }
}
