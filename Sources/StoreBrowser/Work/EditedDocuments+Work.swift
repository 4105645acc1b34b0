package import StrataDocuments
package import StrataModel

/// Documents that came back from an editor, to be made edits of the records that they are.
package struct EditedDocumentsRequest: Question {
  package var datastore: String
  package var commit: CommitNumber
  package var documents: [Document]
  /// The records that were opened, in order; those without identifier bytes are new, and say the version of what is made of them.
  package var records: [Record]
  package var identifierPath: String?

  package func reply(in context: WorkContext) throws(ModelError) -> [RecordEdit] {
    let datastore = try context.datastore(datastore, at: commit)
    let path = try identifierPath.map { text throws(ModelError) in try WorkContext.path(text) }
    var edits: [RecordEdit] = []
    for (position, document) in documents.enumerated() {
      try context.goOn()
      let opened = position < records.count ? records[position] : records.last
      guard let opened else { continue }
      try context.add(
        document, opened: opened, isNew: position >= records.count || opened.identifier.bytes.isEmpty,
        path: path, in: datastore, edits: &edits)
    }
    return edits
  }
}

extension WorkContext {
  fileprivate func add(
    _ document: Document, opened: Record, isNew: Bool, path: DocumentPath?, in datastore: any ReadableDatastore,
    edits: inout [RecordEdit]
  ) throws(ModelError) {
    let key = datastore.descriptor.key
    guard isNew else {
      if let path, let value = document[path], let before = try opened.document()[path], value != before {
        throw .refused(reason: "the identifier stays \(opened.identifier); D makes a copy under another one")
      }
      guard try document != opened.document() else { return }
      let bytes = try onDocument(opened.coding.encode(document, keeping: opened.content))
      edits.append(
        RecordEdit(
          datastore: key, identifier: opened.identifier, old: opened.stored,
          new: RecordContent(version: opened.version, bytes: bytes)))
      return
    }
    guard let path else {
      throw .refused(reason: "it is not known which field is the identifier of \(key)")
    }
    guard let value = document[path] else {
      throw .refused(reason: "the identifier \(path.shortText) is missing")
    }
    let identifier = try datastore.identifier(parsing: value.compactJSON)
    guard try datastore.record(identifier) == nil else {
      throw .refused(reason: "\(key) has a record \(identifier) already; give the new one another \(path.shortText)")
    }
    let bytes = try onDocument(datastore.descriptor.coding.encode(document))
    edits.append(
      RecordEdit(
        datastore: key, identifier: identifier, old: nil, new: RecordContent(version: opened.version, bytes: bytes)))
  }
}
