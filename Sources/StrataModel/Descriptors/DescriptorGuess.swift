import StrataDocuments
import StrataEngine

/// A descriptor for a datastore whose own is lost, made from what its records show.
///
/// Where a field of all the records that are looked at is their identifier, the field tells how identifiers are kept; otherwise their
/// bytes do: eight are a number, sixteen a UUID, else text or data. Indexes cannot be guessed.
struct DescriptorGuess {
  private static let sampleSize = 200
  private static let encodings: [(KeyEncoding, swiftName: String)] = [
    (.integer, "Int"), (.string, "String"), (.uuid, "UUID"), (.double, "Double"), (.date, "Date"), (.bool, "Bool"),
  ]

  private var keys: [[UInt8]] = []
  private var documents: [Document] = []
  private var coding = RecordCoding.json
  private var version = "1"

  init(_ tree: Tree) throws(StorageError) {
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    while let entry = cursor.current, keys.count < Self.sampleSize {
      keys.append(entry.key.array)
      if let record = entry.payload.record { look(try tree.value(of: record)) }
      try cursor.next()
    }
  }

  private mutating func look(_ record: Bytes) {
    guard let (tag, content) = try? RecordBytes.split(record) else { return }
    version = tag
    if documents.isEmpty { coding = .sniff(content.array) }
    guard let document = try? coding.document(of: content.array) else { return }
    documents.append(document)
  }

  func descriptor(key: String) -> DatastoreDescriptor {
    let (encoding, swiftName, path) = identifiers
    return DatastoreDescriptor(
      key: key, version: version, versionIsString: Int(version) == nil, identifierType: swiftName,
      identifierEncoding: encoding, coding: coding, identifierPath: path?.description)
  }

  private var identifiers: (KeyEncoding, swiftName: String, DocumentPath?) {
    if documents.count == keys.count, case .object(let members)? = documents.first {
      for member in members {
        let path = DocumentPath([.member(member.name)])
        for (encoding, name) in Self.encodings where isIdentifier(path, encoding) { return (encoding, name, path) }
      }
    }
    if isReadable(as: .string) { return (.string, "String", nil) }
    if keys.allSatisfy({ $0.count == 16 }) { return (.uuid, "UUID", nil) }
    if isReadable(as: .integer) { return (.integer, "Int", nil) }
    return (.data, "Data", nil)
  }

  private func isIdentifier(_ path: DocumentPath, _ encoding: KeyEncoding) -> Bool {
    zip(keys, documents).allSatisfy { key, document in
      guard let field = document[path], let value = encoding.keyValue(of: field) else { return false }
      return (try? encoding.encode(value)) == key
    }
  }

  private func isReadable(as encoding: KeyEncoding) -> Bool {
    keys.allSatisfy { key in
      guard let value = try? encoding.decode(key), (try? encoding.encode(value)) == key else { return false }
      guard case .string(let text) = value else { return true }
      return !text.unicodeScalars.contains { $0.value < 0x20 }
    }
  }
}
