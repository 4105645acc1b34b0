/// The name of a tree in the catalog: up to 1 KiB of bytes, ordered as bytes.
package struct TreeName: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package static func < (left: TreeName, right: TreeName) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  /// In one piece: an array would be hashed byte by byte, and every change of a record looks names up.
  package func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  package func hasPrefix(_ prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }

  package var description: String {
    String(decoding: bytes.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
  }
}

/// The kind of a tree's entries.
package enum TreeKind: UInt8, Sendable, Hashable {
  /// Versioned: each value lies in a change entry that names its commit and the version it replaces. Deleted records are kept in a hidden
  /// tree beside it.
  case records = 1
  /// Plain: a key and at most 256 bytes or a record reference; no history except that of the views.
  case entries = 2
}

/// Which side knows the order of a tree's keys.
package enum TreeOrder: UInt8, Sendable, Hashable {
  /// Byte order.
  case bytes = 1
  /// The caller's: every change and every search brings a comparison.
  case caller = 2
}

/// How a key is looked up.
package enum KeyProbe {
  /// The key itself, in a tree of byte order.
  case bytes([UInt8])
  /// A place in the caller's order: the function returns a stored key's place relative to the probe, negative if the key lies before it, 0
  /// if it is the key.
  case compare((UnsafeRawBufferPointer) -> Int)
}

/// One entry of a tree.
package struct Entry: Sendable, Hashable {
  package var key: Bytes
  package var payload: Payload

  package init(key: Bytes, payload: Payload) {
    self.key = key
    self.payload = payload
  }
}

/// The contents of an entry beside its key.
package enum Payload: Sendable, Hashable {
  case none
  /// At most `Limits.payload` bytes.
  case bytes(Bytes)
  case record(RecordReference)

  /// The record that the entry refers to, if it does.
  package var record: RecordReference? {
    if case .record(let reference) = self { reference } else { nil }
  }

  /// The place in the file of the record that the entry refers to, if it does.
  var entry: EntryReference? {
    if case .record(.entry(let reference)) = self { reference } else { nil }
  }

  static func entry(_ reference: EntryReference) -> Payload { .record(.entry(reference)) }
}

/// The place of a change entry in the file, its length, and the check that it must have.
package struct EntryReference: Hashable, Sendable {
  package var offset: FileOffset
  package var length: UInt32
  package var check: UInt32
}

/// Identifies one version of a record: by its place in a file, or, on a server, by its key and the commit that wrote it.
///
/// The file's part is plain bytes, so that walks along a file count no references.
package enum RecordReference: Hashable, Sendable {
  case entry(EntryReference)
  case served(ServedRecord)

  /// Creates a reference from the values of `place`, `length` and `check`.
  package init(place: UInt64, length: UInt32, check: UInt32) {
    self = .entry(EntryReference(offset: FileOffset(place), length: length, check: check))
  }

  /// For entries of an index that are not direct: they refer to nothing.
  package static let none = RecordReference.entry(.none)

  init?(_ reference: EntryReference?) {
    guard let reference else { return nil }
    self = .entry(reference)
  }

  /// Its place, if it lies in a file.
  var entry: EntryReference? {
    if case .entry(let reference) = self { reference } else { nil }
  }

  /// Distinguishes it from others of its tree: the position in the file, or on a server the number of the commit that wrote it.
  package var place: UInt64 {
    switch self {
    case .entry(let reference): reference.offset.bytes
    case .served(let record): record.commit
    }
  }

  /// Bytes in the file; 0 on a server.
  package var length: UInt32 {
    if case .entry(let reference) = self { reference.length } else { 0 }
  }

  package var check: UInt32 {
    if case .entry(let reference) = self { reference.check } else { 0 }
  }
}

/// The limits of the format. Longer things are refused before anything is written.
package enum Limits {
  /// Bytes of a key: enough for an index entry with a value and an identifier of 4 KiB each, whose encodings may double them. An inner node
  /// may hold three such keys before it is split, and a node has at most 65,535 bytes.
  package static let key = 16_384
  /// Bytes of a key in a store on a server: an index of PostgreSQL fails at 2,681 incompressible ones, others earlier.
  package static let servedKey = 1_000
  /// Bytes of a tree's name.
  package static let treeName = 1024
  /// Bytes of a payload that lies in an entry.
  package static let payload = 256
  /// Bytes of a value.
  package static let value: UInt64 = 1 << 30
  /// Bytes of a tree's attributes.
  package static let attributes = 1 << 24
  /// Bytes of UTF-8 of a name given to a commit.
  package static let name = 1024
  /// Bytes of UTF-8 of a commit's action, its program or its author.
  package static let text = 4096
}
