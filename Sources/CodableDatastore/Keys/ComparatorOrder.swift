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
  private let decoded = Mutex(DecodedKeys<Value>())

  /// The number of keys that have been decoded so far, for tests.
  var decodeCount: Int { decoded.withLock { $0.decodeCount } }

  /// Canonical JSON: members sorted, no spaces.
  func key(of value: Value) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let json = [UInt8](try encoder.encode(value))
    let key = try RecordCoding.json.document(of: json).canonicalBytes
    decoded.withLock { $0.keep(value, key) }
    return key
  }

  func value(of key: [UInt8]) throws -> Value {
    if let value = decoded.withLock({ $0.value(of: key) }) { return value }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let value = try decoder.decode(Value.self, from: Data(key))
    decoded.withLock {
      $0.decodeCount += 1
      $0.keep(value, key)
    }
    return value
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

/// Decoded keys, by their bytes. Two halves alternate: when the younger is full, the older is dropped, so that keys in use stay and memory
/// is bounded.
private struct DecodedKeys<Value: Sendable> {
  private static var capacity: Int { 8192 }
  private var young: [[UInt8]: Value] = [:]
  private var old: [[UInt8]: Value] = [:]
  var decodeCount = 0

  mutating func value(of key: [UInt8]) -> Value? {
    if let value = young[key] { return value }
    guard let value = old[key] else { return nil }
    keep(value, key)
    return value
  }

  mutating func keep(_ value: Value, _ key: [UInt8]) {
    if young.count >= Self.capacity {
      old = young
      young = [:]
    }
    young[key] = value
  }
}
