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

  /// Returns the fields that it changes. If one of the contents cannot be read, the record is one field that says so.
  func fields(_ descriptor: DatastoreDescriptor) -> [FieldRow] {
    func document(_ content: RecordContent) -> Document? {
      content == .damaged ? nil : try? descriptor.document(of: content)
    }
    let (before, after) = (old.map(document) ?? .object([]), new.map(document) ?? .object([]))
    if let before, let after { return Document.difference(before, after).map(FieldRow.init) }
    func text(_ content: RecordContent) -> ValueText {
      document(content).map(ValueText.init(literal:)) ?? ValueText(text: "cannot be read", kind: .problem)
    }
    return [FieldRow(path: "\(DocumentPath.root)", old: old.map(text), new: new.map(text))]
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
