package import StrataDocuments
import StrataSystem

/// Counts how often values occur, in at most 16 MB.
///
/// Up to `exactLimit` distinct values every count is exact. Beyond, the number of distinct values is estimated (HyperLogLog, P. Flajolet et
/// al. 2007, with 2^14 registers: a standard error of 0.8 %), and counts are lower bounds, each too low by at most `missed` (after J. Misra
/// and D. Gries 1982). Values are distinguished by a 64-bit hash. The values themselves are kept as long as they take at most
/// `valueBytesLimit`, then only those of the most frequent ones.
package struct ValueTally {
  package static let exactLimit = 100_000
  package static let valueBytesLimit = 4 << 20
  private static let slots = 1 << 17

  private struct Slot {
    var hash: UInt64 = 0
    var count: Int32 = 0
    /// The position of the kept value, or −1.
    var value: Int32 = -1
  }

  private var table: [Slot] = []
  private var values: [Document] = []
  private var valueBytes = 0
  private var hasAllValues = true
  private var used = 0
  private var registers: [UInt8] = []
  /// The largest error of any count.
  private(set) var missed = 0

  package init() {}

  /// The bytes in memory: the table of hashes and counts, the values, and the registers of the estimate.
  package var byteCount: Int {
    table.capacity * MemoryLayout<Slot>.stride + values.capacity * MemoryLayout<Document>.stride + valueBytes
      + registers.count
  }

  package var isExact: Bool { registers.isEmpty }

  /// The number of distinct values, or an estimate of it.
  package var distinct: Int { isExact ? used : max(Self.exactLimit + 1, estimate) }

  /// The most frequent values, first the most frequent one. Values that are equally frequent are sorted.
  package func commonest(_ limit: Int) -> [(value: Document, count: Int)] {
    var best: [(value: Document, count: Int32, key: [UInt8])] = []
    for slot in table where slot.value >= 0 {
      // If the tally has discarded counts, a count up to the largest error says nothing.
      if !isExact, Int(slot.count) <= missed { continue }
      if best.count == limit, let last = best.last, last.count > slot.count { continue }
      let value = values[Int(slot.value)]
      let key = value.sortKey
      let place = best.firstIndex { $0.count < slot.count || $0.count == slot.count && key.precedes($0.key) }
      best.insert((value, slot.count, key), at: place ?? best.count)
      if best.count > limit { best.removeLast() }
    }
    return best.map { ($0.value, Int($0.count)) }
  }

  /// Counts a value with this hash.
  package mutating func add(_ hash: UInt64, _ value: @autoclosure () -> Document) {
    if table.isEmpty { table = Array(repeating: Slot(), count: 64) }
    if !isExact { register(hash) }
    var place = find(hash)
    if table[place].count > 0 {
      if table[place].count < .max { table[place].count += 1 }
      if table[place].value < 0 { keep(value(), at: place) }
      return
    }
    if isExact, used == Self.exactLimit { beginEstimating(with: hash) }
    // The fullest table has more room than the number of values that are counted exactly.
    if used * 32 >= table.count * 25 {
      if table.count < Self.slots { rebuild(size: table.count * 4, forgetting: 0) } else { forget() }
      place = find(hash)
    }
    table[place] = Slot(hash: hash, count: 1)
    used += 1
    if hasAllValues { keep(value(), at: place) }
  }

  private mutating func keep(_ value: Document, at place: Int) {
    table[place].value = Int32(values.count)
    values.append(value)
    valueBytes += value.heapBytes
    if valueBytes > Self.valueBytesLimit { keepFrequentValues() }
  }

  /// Keeps the most frequent values in half of the room. A discarded value that occurs again is kept again.
  private mutating func keepFrequentValues() {
    hasAllValues = false
    let kept = table.indices.filter { table[$0].value >= 0 }.sorted { table[$0].count > table[$1].count }
    let old = values
    (values, valueBytes) = ([], 0)
    for place in kept {
      let value = old[Int(table[place].value)]
      guard valueBytes + value.heapBytes <= Self.valueBytesLimit / 2 else {
        table[place].value = -1
        continue
      }
      table[place].value = Int32(values.count)
      values.append(value)
      valueBytes += value.heapBytes
    }
  }

  private func find(_ hash: UInt64) -> Int {
    let mask = table.count - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    while table[place].count > 0, table[place].hash != hash { place = (place + 1) & mask }
    return place
  }

  /// Subtracts the same number from every count until half of the table is free.
  private mutating func forget() {
    let counts = table.lazy.map(\.count).filter { $0 > 0 }.sorted()
    let part = max(1, counts[counts.count / 2])
    missed += Int(part)
    rebuild(size: table.count, forgetting: part)
  }

  private mutating func rebuild(size: Int, forgetting part: Int32) {
    let (old, oldValues) = (table, values)
    table = Array(repeating: Slot(), count: size)
    (values, valueBytes) = ([], 0)
    used = 0
    for slot in old where slot.count > part {
      // A count is a lower bound: the subtracted number is recorded in `missed` and never added back.
      let place = find(slot.hash)
      table[place] = Slot(hash: slot.hash, count: slot.count - part)
      used += 1
      guard slot.value >= 0 else { continue }
      table[place].value = Int32(values.count)
      values.append(oldValues[Int(slot.value)])
      valueBytes += oldValues[Int(slot.value)].heapBytes
    }
  }

  // MARK: Estimating

  private static let registerBits: UInt64 = 14

  private mutating func beginEstimating(with hash: UInt64) {
    registers = Array(repeating: 0, count: 1 << Int(Self.registerBits))
    for slot in table where slot.count > 0 { register(slot.hash) }
    register(hash)
  }

  private mutating func register(_ hash: UInt64) {
    let place = Int(hash >> (64 - Self.registerBits))
    let rest = hash << Self.registerBits | 1 << (Self.registerBits - 1)
    registers[place] = max(registers[place], UInt8(rest.leadingZeroBitCount + 1))
  }

  private var estimate: Int {
    let count = Double(registers.count)
    var sum = 0.0
    var empty = 0
    for register in registers {
      sum += 1 / Double(UInt64(1) << UInt64(register))
      if register == 0 { empty += 1 }
    }
    let raw = 0.7213 / (1 + 1.079 / count) * count * count / sum
    guard raw < 2.5 * count, empty > 0 else { return Int(raw) }
    return Int(count * log(count / Double(empty)))
  }
}

extension Document {
  /// The approximate number of bytes that a scalar has allocated besides itself.
  fileprivate var heapBytes: Int {
    switch self {
    case .string(let text): text.utf8.count > 15 ? text.utf8.count + 32 : 0
    case .number(let number): number.text.utf8.count > 15 ? number.text.utf8.count + 32 : 0
    case .data(let bytes): bytes.count + 32
    default: 0
    }
  }
}

/// 64-bit hashes that distinguish values; values that are equal as documents have the same hash.
package enum ValueHash {
  /// The hash of a text.
  package static func text(of text: String, seed: UInt64 = seed) -> UInt64 {
    var text = text
    return text.withUTF8 { self.text($0, seed: seed) }
  }

  /// The seed of the hashes that no caller needs to tell from others.
  package static let seed: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// The hash of a text in UTF-8.
  static func text(_ utf8: UnsafeBufferPointer<UInt8>, seed: UInt64 = seed) -> UInt64 {
    guard !NormalForm.isEvident(utf8) else { return bytes(utf8, seed: seed) }
    var composed = NormalForm.composed(String(decoding: utf8, as: UTF8.self))
    return composed.withUTF8 { bytes($0, seed: seed) }
  }

  /// The hash of bytes.
  static func bytes(_ bytes: UnsafeBufferPointer<UInt8>, seed: UInt64) -> UInt64 {
    var hash = seed ^ UInt64(bytes.count)
    let raw = UnsafeRawBufferPointer(bytes)
    var at = 0
    while at + 8 <= raw.count {
      hash = mix(hash ^ raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at += 8
    }
    var rest: UInt64 = 0
    while at < raw.count {
      rest = rest << 8 | UInt64(raw[at])
      at += 1
    }
    return mix(hash ^ rest)
  }

  static func number(_ value: Double) -> UInt64 { mix((value == 0 ? 0 : value).bitPattern ^ 0xD1B5_4A32_D192_ED03) }

  static func bits(_ bits: UInt64) -> UInt64 { mix(bits ^ 0x8CB9_2BA7_2F3D_8DD7) }

  /// The finaliser of SplitMix64 (G. Steele et al. 2014).
  private static func mix(_ bits: UInt64) -> UInt64 {
    var bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }
}
