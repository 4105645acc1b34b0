import StorageEngine

/// Reads the entries of an index by value.
enum EntryScan {
  /// The identifiers that stand under a value (encoded), lowest first, up to a limit. In a tree whose order only the app
  /// knows it walks the whole index.
  static func identifiers(of value: [UInt8], in tree: Tree, limit: Int) throws(ModelError) -> [[UInt8]] {
    try onStorage { () throws(StorageError) in
      var found: [[UInt8]] = []
      var cursor = tree.cursor()
      if tree.order == .bytes { try cursor.seek(to: .bytes(value)) } else { try cursor.seek(rank: 0) }
      while let entry = cursor.current, found.count < limit {
        let (isEqual, identifier) = entry.key.withUnsafeBytes { bytes -> (Bool, [UInt8]) in
          guard let range = EntryKey.identifierRange(bytes) else { return (false, []) }
          return (bytes[..<range.lowerBound].elementsEqual(value), Array(bytes[range]))
        }
        if isEqual { found.append(identifier) } else if tree.order == .bytes { break }
        try cursor.next()
      }
      return found
    }
  }
}

extension IndexDescriptor {
  /// The value of its bytes for people, also where they cannot be decoded.
  package func shownValue(_ bytes: [UInt8]) -> KeyValue { (try? encoding.decode(bytes)) ?? .data(bytes) }

  /// The value of an entry's key for people.
  func describe(_ key: Bytes) -> String {
    key.withUnsafeBytes { EntryKey.split($0) }.map { shownValue($0.value).description } ?? "?"
  }
}

extension DatastoreDescriptor {
  /// An identifier with its value; where the bytes cannot be decoded they are shown as they are.
  package func storedKey(_ bytes: [UInt8]) -> StoredKey {
    StoredKey(bytes: bytes, value: (try? identifierEncoding.decode(bytes)) ?? .data(bytes))
  }
}
