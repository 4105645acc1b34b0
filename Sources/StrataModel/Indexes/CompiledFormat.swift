package import StrataEngine

/// The app's own types for a datastore, if they are compiled into the program that has the store open.
///
/// With it, edits are checked by the real types, indexes of any order are kept right, and comparator-ordered trees can
/// be searched. The typed library makes one for each registered format.
package protocol CompiledFormat: Sendable {
  /// The key of the datastore.
  var datastore: String { get }
  /// The app's current version, under which new and changed records are written.
  var version: String { get }
  /// How identifiers are ordered.
  var recordOrder: KeyOrder { get }
  /// How the entries of an index are ordered.
  func order(ofIndex name: String) -> EntryOrder
  /// The identifier's key and the encoded values per index name of a record; throws `ModelError.refused` with the
  /// decoding path if it does not decode.
  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]])
  /// The record as the current version writes it; throws `ModelError.refused` with the decoding path if it does not decode.
  func lifted(_ content: RecordContent) throws(ModelError) -> RecordContent
  /// Makes the datastore's trees, as the first record says what its bytes are; throws `ModelError.refused` if that does not decode.
  func createTrees(for content: RecordContent, in transaction: any WriteTransaction) throws(ModelError)
}

/// The contents of a record in one version: the app's types convert older ones, if they are compiled in. A content that they cannot read
/// stays as it is; then the record is one conflict.
///
/// So a side that has only migrated a record has not edited it, and an edit by an older app merges field by field.
package func lifted(_ contents: [RecordContent?], by format: (any CompiledFormat)?) -> [RecordContent?] {
  guard let format, Set(contents.compactMap { $0?.version }).count > 1 else { return contents }
  return contents.map { content in
    guard let content, content.version != format.version else { return content }
    return (try? format.lifted(content)) ?? content
  }
}
