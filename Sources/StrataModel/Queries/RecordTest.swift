package import StrataDocuments
package import StrataExpressions
import StrataEngine

/// Tests records against a filter: on their bytes as far as these tell, else on the parts of their documents that the filter looks at.
package struct RecordTest: Sendable {
  private let filter: Filter
  private var condition: ByteCondition?

  package init(_ filter: Filter) {
    self.filter = filter
    condition = ByteCondition(filter.queryCondition, readsWhole: true) { subject in
      if case .path(let path) = subject, path != .root { path } else { nil }
    }
  }

  /// Whether the document of a record meets the filter. Throws if the record cannot be read as one.
  package mutating func keeps(_ bytes: UnsafeRawBufferPointer, _ coding: RecordCoding) throws(DocumentError) -> Bool {
    if coding == .json, let holds = condition?.holds(for: bytes, presumed: { _ in nil }) { return holds }
    return filter.matches(try coding.document(of: bytes, at: filter.selection))
  }

  package mutating func keeps(_ record: RawRecord) throws(ModelError) -> Bool {
    try onDocument(
      record.bytes.withUnsafeBytes { bytes throws(DocumentError) in try keeps(bytes, record.coding) })
  }

  package mutating func keeps(_ record: Record) throws(ModelError) -> Bool {
    let result = record.content.withUnsafeBytes { bytes in
      Result { () throws(DocumentError) in try keeps(bytes, record.coding) }
    }
    return try onDocument(result.get())
  }
}
