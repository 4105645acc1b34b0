/// The coding of the bytes of records.
package enum RecordCoding: String, Hashable, Sendable {
  case json
  case binaryPropertyList
  case xmlPropertyList
  /// The app's own coder; a document of such bytes is their data.
  case opaque

  /// The coding that bytes seem to have: a property list by its first bytes, JSON if they parse.
  package static func sniff(_ bytes: [UInt8]) -> Self {
    if bytes.starts(with: Array("bplist".utf8)) { return .binaryPropertyList }
    let text = bytes.drop {
      $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF
    }
    if ["<?xml", "<!DOCTYPE plist", "<plist"].contains(where: { text.starts(with: Array($0.utf8)) }) {
      return .xmlPropertyList
    }
    return (try? JSONParser.parse(bytes)) == nil ? .opaque : .json
  }

  /// The document of a record's bytes; throws `DocumentError.unreadable` with the place if they are not of this coding.
  package func document(of bytes: [UInt8]) throws(DocumentError) -> Document {
    switch self {
    case .json:
      do { return try JSONParser.parse(bytes) } catch { throw .unreadable(what: "JSON", where: "\(error)") }
    case .binaryPropertyList: return try BinaryPropertyList.document(of: bytes)
    case .xmlPropertyList: return try XMLPropertyList.document(of: bytes)
    case .opaque: return .data(bytes)
    }
  }

  /// The bytes of a document: compact JSON with members in the document's order, or a property list. Throws `DocumentError.refused` if the
  /// coding cannot express it.
  package func encode(_ document: Document) throws(DocumentError) -> [UInt8] {
    switch self {
    case .json: return document.json(.compact)
    case .binaryPropertyList: return try BinaryPropertyList.bytes(of: document)
    case .xmlPropertyList: return try XMLPropertyList.bytes(of: document)
    case .opaque:
      guard case .data(let bytes) = document else {
        throw .refused(reason: "records of the app's own coding cannot be written without the app")
      }
      return bytes
    }
  }

  /// The bytes of an edited document, which keep those of `original` wherever nothing changed: its spacing, its escapes, its digits. Same
  /// as `encode(_:)` if the coding has no such freedom.
  package func encode(_ document: Document, keeping original: [UInt8]) throws(DocumentError) -> [UInt8] {
    if self == .json, let bytes = JSONRewriter.bytes(of: document, keeping: original) { return bytes }
    return try encode(document)
  }
}
