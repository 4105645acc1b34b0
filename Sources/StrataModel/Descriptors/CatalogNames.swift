import StrataDocuments
package import StrataEngine

// The names of a datastore's trees in the store's catalog. The first byte is the kind of a tree, so a prefix scan of the
// catalog lists the datastores without touching their indexes:
//
//   44 'D'  KEY            the records; attributes are the descriptor
//   49 'I'  KEY 00 INDEX   one secondary index
//   4C 'L'  KEY            records left out of rebuilt indexes: identifier → the reason
//   4D 'M'                 letters of the inbox that are done: sender → the last number, and its date
//
// Keys and names of indexes are UTF-8 of their NFC: texts that are equal name one tree, however their accents are written.

extension TreeName {
  private static let recordsMark: UInt8 = 0x44
  private static let indexMark: UInt8 = 0x49
  private static let leftOutMark: UInt8 = 0x4C

  /// The tree of the letters that were applied or refused; see `LetterNumbers`.
  package static let letters = TreeName([0x4D])

  /// The tree of a datastore's records.
  package static func records(of datastore: String) -> TreeName { TreeName([recordsMark] + bytes(of: datastore)) }

  /// The tree of one secondary index.
  package static func index(_ name: String, of datastore: String) -> TreeName {
    TreeName([indexMark] + bytes(of: datastore) + [0] + bytes(of: name))
  }

  /// The tree of the records that a warm-up left out: identifier → reason (UTF-8, at most 256 bytes). It exists only while records are left
  /// out.
  package static func leftOut(of datastore: String) -> TreeName { TreeName([leftOutMark] + bytes(of: datastore)) }

  private static func bytes(of text: String) -> [UInt8] { Array(NormalForm.composed(text).utf8) }

  /// The key of the datastore whose records this tree holds; nil for other trees.
  package var datastoreKey: String? {
    guard bytes.first == Self.recordsMark else { return nil }
    return String(decoding: bytes.dropFirst(), as: UTF8.self)
  }

  /// The key of the datastore whose left-out records this tree lists; nil for other trees.
  package var leftOutKey: String? {
    guard bytes.first == Self.leftOutMark else { return nil }
    return String(decoding: bytes.dropFirst(), as: UTF8.self)
  }

  /// Returns the tree and the key of an entry's record: the entry's key ends with its identifier. Returns nil if this is not an index.
  package func recordOfEntry(_ key: [UInt8]) -> (tree: TreeName, key: [UInt8])? {
    guard let (datastore, _) = indexName, let identifier = key.withUnsafeBytes({ EntryKey.identifier($0) })
    else { return nil }
    return (.records(of: datastore), identifier)
  }

  /// The datastore and the name of the index of this tree; nil for other trees.
  package var indexName: (datastore: String, index: String)? {
    guard bytes.first == Self.indexMark, let end = bytes.firstIndex(of: 0) else { return nil }
    return (
      String(decoding: bytes[1..<end], as: UTF8.self), String(decoding: bytes[(end + 1)...], as: UTF8.self)
    )
  }
}
