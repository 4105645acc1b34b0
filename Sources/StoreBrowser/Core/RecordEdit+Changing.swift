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

  /// Returns the edit with its new document changed, and the document before and after; nil if nothing changes.
  func changing(
    _ descriptor: DatastoreDescriptor, _ change: (Document) throws(DocumentError) -> Document
  ) throws(DocumentError) -> (edit: RecordEdit, before: Document, after: Document)? {
    guard let content = new else { return nil }
    let coding = descriptor.coding(of: content.bytes)
    let before = try coding.document(of: content.bytes)
    let after = try change(before)
    guard after != before else { return nil }
    var edit = self
    edit.new = RecordContent(version: content.version, bytes: try coding.encode(after, keeping: content.bytes))
    return (edit, before, after)
  }
}
