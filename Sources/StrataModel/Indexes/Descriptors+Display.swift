import StrataDocuments
import StrataEngine

extension IndexDescriptor {
  /// The value of its bytes for people, also where they cannot be decoded.
  package func shownValue(_ bytes: [UInt8]) -> KeyValue { (try? encoding.decode(bytes)) ?? .data(bytes) }

  /// The value as it is shown if one record alone may have it; null, and tiers of which one is null, may belong to any number.
  package func soleValue(_ bytes: [UInt8]) -> KeyValue? {
    let value = shownValue(bytes)
    return value.hasNull ? nil : value
  }

  func describe(_ key: Bytes) -> String {
    key.withUnsafeBytes { EntryKey.value($0) }.map { shownValue($0).description } ?? "?"
  }
}

extension DatastoreDescriptor {
  /// An identifier with its value; where the bytes cannot be decoded they are shown as they are.
  package func storedKey(_ bytes: [UInt8]) -> StoredKey {
    StoredKey(bytes: bytes, value: (try? identifierEncoding.decode(bytes)) ?? .data(bytes))
  }
}

extension KeyValue {
  fileprivate var hasNull: Bool {
    switch self {
    case .null, .document(.null): true
    case .compound(let tiers): tiers.contains(where: \.hasNull)
    default: false
    }
  }
}
