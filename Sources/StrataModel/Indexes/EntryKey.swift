import StrataEngine

/// The key of an index entry: the value, the identifier, and how long the identifier is.
///
///     26 00 00 03 f1   15 28   00 02        value, identifier (2 bytes), its length (big-endian)
///
/// Encodings are self-delimiting, so byte order of these keys is the order of values and, among equal ones, of
/// identifiers; the length at the end only serves to take a key apart.
package enum EntryKey {
  package static func make(value: [UInt8], identifier: [UInt8]) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(value.count + identifier.count + 2)
    append(value: value, identifier: identifier, to: &key)
    return key
  }

  /// As `make`, behind what is there already.
  package static func append(value: [UInt8], identifier: [UInt8], to keys: inout [UInt8]) {
    // Buffers, not arrays, which would be counted twice each.
    value.withUnsafeBufferPointer { keys.append(contentsOf: $0) }
    identifier.withUnsafeBufferPointer { keys.append(contentsOf: $0) }
    keys.append(UInt8(truncatingIfNeeded: identifier.count >> 8))
    keys.append(UInt8(truncatingIfNeeded: identifier.count))
  }

  static func length(value: [UInt8], identifier: [UInt8]) -> Int { value.count + identifier.count + 2 }

  /// The range of the identifier within a key. Nil if the bytes are not an entry key.
  package static func identifierRange(_ key: UnsafeRawBufferPointer) -> Range<Int>? {
    guard key.count >= 2 else { return nil }
    let end = key.count - 2
    let length = Int(key[end]) << 8 | Int(key[end + 1])
    guard length <= end else { return nil }
    return (end - length)..<end
  }

  /// The bytes of the identifier. Nil if the bytes are not an entry key.
  package static func identifier(_ key: UnsafeRawBufferPointer) -> [UInt8]? {
    identifierRange(key).map { Array(key[$0]) }
  }

  /// The bytes of the value. Nil if the bytes are not an entry key.
  package static func value(_ key: UnsafeRawBufferPointer) -> [UInt8]? { key.value.map { Array($0) } }

  /// Splits a key into the bytes of its value and of its identifier. Returns nil if the bytes are not an entry key.
  ///
  /// A caller that needs only one of them must call `value(_:)` or `identifier(_:)`: the optimizer of Swift 6.3 releases the unused
  /// array before it has filled it, which the address sanitizer found as a write into freed memory.
  package static func split(_ key: UnsafeRawBufferPointer) -> (value: [UInt8], identifier: [UInt8])? {
    guard let range = identifierRange(key) else { return nil }
    return (Array(key[..<range.lowerBound]), Array(key[range]))
  }

  /// Whether a key is an entry of the record with this identifier.
  package static func isEntry(_ key: UnsafeRawBufferPointer, of identifier: [UInt8]) -> Bool {
    guard let range = identifierRange(key), range.count == identifier.count else { return false }
    return identifier.withUnsafeBytes { compareKeys(UnsafeRawBufferPointer(rebasing: key[range]), $0) } == 0
  }
}

extension UnsafeRawBufferPointer {
  /// The value of an entry's key. Nil if the bytes are not an entry key.
  var value: UnsafeRawBufferPointer? {
    EntryKey.identifierRange(self).map { UnsafeRawBufferPointer(rebasing: self[..<$0.lowerBound]) }
  }
}
