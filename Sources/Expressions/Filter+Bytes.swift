package import Documents

extension Filter {
  /// Whether the document of a record's bytes meets the condition. As `matches(_:)` of it, and throws where it cannot be read; only
  /// what the condition looks at is made of it.
  package func matches(_ bytes: UnsafeRawBufferPointer, coding: RecordCoding) throws(DocumentError) -> Bool {
    matches(try coding.document(of: bytes, at: selection))
  }
}

extension Filter.Condition {
  /// All paths that it looks at.
  var paths: [DocumentPath] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.paths)
    case .not(let inner): inner.paths
    case .isTrue(let operand), .isNull(let operand), .isOne(let operand, _), .matches(let operand, _):
      [operand].compactMap(\.path)
    case .compare(let left, _, let right), .has(let left, let right), .text(let left, _, let right):
      [left, right].compactMap(\.path)
    }
  }
}

extension Filter.Operand {
  fileprivate var path: DocumentPath? { if case .path(let path) = self { path } else { nil } }
}
