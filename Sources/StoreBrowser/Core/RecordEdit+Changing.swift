import StrataDocuments
import StrataModel

/// A further change of a record that may have a staged one. Every edit of fields is made by these two.
extension RecordEdit {
  /// The edit to continue: the staged one over the stored content, or one that changes nothing yet.
  static func begun(
    at place: RecordPlace, over stored: RecordContent?, _ staged: RecordEdit?, _ descriptor: DatastoreDescriptor
  ) -> RecordEdit {
    let begun =
      staged ?? RecordEdit(datastore: place.datastore, identifier: place.identifier, old: stored, new: stored)
    return begun.over(stored, descriptor).edit
  }

  /// Returns the fields that it changes.
  func fields(_ descriptor: DatastoreDescriptor) throws(DocumentError) -> [FieldRow] {
    if [old, new].contains(.damaged) {
      func text(_ content: RecordContent) throws(DocumentError) -> ValueText {
        if content == .damaged { return ValueText(text: "cannot be read", kind: .problem) }
        return ValueText(literal: try descriptor.document(of: content))
      }
      return [FieldRow(path: "\(DocumentPath.root)", old: try old.map(text), new: try new.map(text))]
    }
    let old = try old.map { content throws(DocumentError) in try descriptor.document(of: content) }
    let new = try new.map { content throws(DocumentError) in try descriptor.document(of: content) }
    return Document.difference(old ?? .object([]), new ?? .object([])).map(FieldRow.init)
  }

  /// An edit for a new record whose identifier is not known yet.
  static func new(_ content: RecordContent, in datastore: String) -> RecordEdit {
    RecordEdit(datastore: datastore, identifier: StoredKey(bytes: [], value: .null), old: nil, new: content)
  }

  /// Returns the edit with its new document changed, and the document before and after; nil if nothing changes.
  func changing(
    _ descriptor: DatastoreDescriptor, _ change: (Document) throws(DocumentError) -> Document
  ) throws(DocumentError) -> (edit: RecordEdit, before: Document, after: Document)? {
    guard let content = new else { return nil }
    let before = try descriptor.document(of: content)
    let after = try change(before)
    guard after != before else { return nil }
    var edit = self
    edit.new?.bytes = try descriptor.coding(of: content.bytes).encode(after, keeping: content.bytes)
    return (edit, before, after)
  }
}
