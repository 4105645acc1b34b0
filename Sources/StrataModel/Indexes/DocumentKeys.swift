package import StrataDocuments

extension KeyEncoding {
  /// The key that a field of a record stands for, which may be missing: that is null to an optional and no key to any
  /// other encoding. Nil too where only the app can make the key.
  package func keyValue(of field: Document?) -> KeyValue? {
    switch self {
    case .optional where field == nil: .null
    case .descending(let inner): inner.keyValue(of: field)
    case .comparator: nil
    default: field.flatMap(keyValue(from:))
    }
  }
}
