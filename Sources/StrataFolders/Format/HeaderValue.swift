import StrataDocuments
package import StrataModel

extension ValueType {
  /// The value of a header's JSON, with its key bytes.
  ///
  /// Dates are text of whole milliseconds here, UUIDs upper case, data base64. The members of a composite value may be in any order and on
  /// several lines, which the bytes do not keep.
  package func key(parsing json: some Collection<UInt8>) throws(FormatError) -> StoredKey {
    let document = try Document(parsing: json, "a header")
    guard let value = encoding.keyValue(from: document), let bytes = try? encoding.encode(value) else {
      throw FormatError("a header is not a valid \(name): \(document.compactText(limit: 80))")
    }
    return StoredKey(bytes: bytes, value: value)
  }
}
