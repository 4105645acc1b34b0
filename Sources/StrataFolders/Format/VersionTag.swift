import StrataDocuments
import StrataFoundation

/// An app's version: the JSON of its raw value, which is text or a number.
package struct VersionTag: Hashable, Sendable {
  /// The JSON's text without quotes: `2024-04-09`, `1`.
  package var text: String
  package var isString: Bool

  /// Takes the header of an entry.
  package init(json: some Collection<UInt8>) throws(FormatError) {
    let document = try Document(parsing: json, "a version")
    if case .string(let text) = document {
      self.text = text
      isString = true
    } else {
      text = document.compactJSON
      isString = false
    }
  }

  /// Takes the form in descriptors, base64 of the JSON.
  init(base64: String, named name: String) throws(FormatError) {
    guard let json = Data(base64Encoded: base64) else { throw FormatError("\(name) is not base64 text") }
    try self.init(json: json)
  }
}
