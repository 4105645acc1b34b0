import StrataDocuments
import StrataEngine
import StrataFoundation
import StrataLocks
import StrataModel

/// Orders keys by a type's own `<`, for which they are decoded; decoded values are kept for a while.
///
/// If neither of two values is less and they are not equal, their canonical bytes decide, so that distinct values never overwrite each
/// other.
final class ComparatorOrder<Value: Indexable>: KeyComparator {
  private let decoded = Mutex(BoundedCache<[UInt8], Value>(half: 8_192))
  private let decodes = Atomic(0)

  /// The number of keys that have been decoded so far, for tests.
  var decodeCount: Int { decodes.load(ordering: .relaxed) }

  /// Canonical JSON: members sorted, no spaces.
  func key(of value: Value) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let json = [UInt8](try encoder.encode(value))
    let key = try RecordCoding.json.document(of: json).canonicalBytes
    decoded.withLock { $0[key] = value }
    return key
  }

  func value(of key: [UInt8]) throws -> Value {
    try decoded.value(of: key) {
      decodes.add(1, ordering: .relaxed)
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
      return try decoder.decode(Value.self, from: Data(key))
    }
  }

  func comparison(to key: [UInt8]) throws -> KeyComparison {
    let sought = try value(of: key)
    return KeyComparison { stored in
      let storedKey = [UInt8](stored)
      let value = try self.value(of: storedKey)
      if value < sought { return -1 }
      if sought < value { return 1 }
      if value == sought { return 0 }
      return storedKey.withUnsafeBytes { stored in key.withUnsafeBytes { compareKeys(stored, $0) } }
    }
  }
}
