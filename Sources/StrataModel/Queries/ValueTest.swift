package import StrataDocuments
import StrataExpressions
import StrataEngine

/// A test of one value of a JSON text, as far as its bytes tell. An answer of nil means that they do not.
struct ValueTest: Sendable {
  private enum NumberTest: Sendable {
    /// Whether all numbers do, or none.
    case always(Bool)
    /// Disjoint and in order, as all ranges here: the values of a list may be many.
    case integers([ClosedRange<Int64>])
    case doubles([KeyInterval])
    /// By the exact number.
    case exact(Filter.Comparison, NumberText, integer: Int64?, double: Double)
  }

  private enum TextTest: Sendable {
    case always(Bool)
    /// Between the ends, each with whether it is included; an end of nil is open.
    case ranges([(lower: [UInt8]?, includesLower: Bool, upper: [UInt8]?, includesUpper: Bool)])
    case begins([UInt8])
  }

  private var null: Bool?
  private var yes: Bool?
  private var no: Bool?
  private var number: NumberTest?
  private var text: TextTest?
  /// Whether a missing member is null.
  private var takesMissingAsNull = false

  private init() {}

  /// Nil if no bytes can tell.
  ///
  /// - Parameter isTyped: Whether the values are those of a type, so that a decoder judges values of another kind.
  init?(_ test: IndexableTerm.Test, isTyped: Bool) {
    switch test {
    case .keys(let intervals, let encoding, _): self.init(intervals, encoding)
    case .compare(let comparison, let value): self.init(comparison, value)
    case .begins(let prefix):
      self.init()
      text = .begins(Self.composed(prefix))
      if !isTyped { (null, yes, no, number, takesMissingAsNull) = (false, false, false, .always(false), true) }
    case .isOne: return nil
    }
  }

  // MARK: Keys of the typed library

  /// A value of another kind than the property's type, or beyond its range, is one that the decoder judges.
  private init?(_ intervals: [KeyInterval], _ encoding: KeyEncoding) {
    let intervals = encoding.sorted(intervals)
    switch encoding {
    case .optional(let inner):
      // Null comes before all values, so that none lies before an end at it, and all lie behind one.
      let ofValues = intervals.filter { $0.upper.value != .null }
        .map { KeyInterval(lower: $0.lower.value == .null ? .open : $0.lower, upper: $0.upper) }
      guard let test = ValueTest(ofValues, inner) else { return nil }
      self = test
      null = intervals.contains {
        ($0.lower == .open || $0.lower == .including(.null)) && $0.upper != .excluding(.null)
      }
    case .integer, .unsigned: number = .integers(intervals.compactMap(\.integers))
    case .double: number = .doubles(intervals)
    case .string:
      text = .ranges(
        intervals.map { interval in
          (
            interval.lower.text, interval.lower.isIncluding, interval.upper.text, interval.upper.isIncluding
          )
        })
    case .bool:
      yes = intervals.contains { $0.upper == .open || $0.upper == .including(.bool(true)) }
      no = intervals.contains { $0.lower != .including(.bool(true)) }
    default: return nil
    }
  }

  // MARK: Literals of a filter

  private init?(_ comparison: Filter.Comparison, _ value: Document) {
    // Values of two kinds are in no order, and not equal.
    (null, yes, no, number, text) = (false, false, false, .always(false), .always(false))
    takesMissingAsNull = true
    switch value {
    case .null where comparison == .equal: null = true
    case .bool(let value) where comparison == .equal: (yes, no) = (value, !value)
    case .number(let value) where value.double.isFinite:
      number = .exact(comparison, value, integer: value.integer, double: value.double)
    case .string(let value):
      let bytes = Self.composed(value)
      switch comparison {
      case .equal: text = .ranges([(bytes, true, bytes, true)])
      case .less: text = .ranges([(nil, false, bytes, false)])
      case .lessOrEqual: text = .ranges([(nil, false, bytes, true)])
      case .greater: text = .ranges([(bytes, false, nil, false)])
      case .greaterOrEqual: text = .ranges([(bytes, true, nil, false)])
      case .notEqual: return nil
      }
    default: return nil
    }
  }

  private static func composed(_ text: String) -> [UInt8] { Array(NormalForm.composed(text).utf8) }

  // MARK: Testing

  func holds(for value: JSONToken?, in bytes: UnsafeRawBufferPointer) -> Bool? {
    guard let value else { return takesMissingAsNull ? null : nil }
    switch value.kind {
    case .null: return null
    case .yes: return yes
    case .no: return no
    case .number: return holds(number: value.content(in: bytes))
    case .text where value.isPlain: return holds(text: value.content(in: bytes))
    default: return nil
    }
  }

  private func holds(number bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
    switch number {
    case nil: return nil
    case .always(let answer)?: return answer
    case .integers(let ranges)?:
      guard let value = JSONNumber.shortInteger(bytes) else { return nil }
      return ranges.containsOne { $0.upperBound < value ? -1 : $0.lowerBound > value ? 1 : 0 }
    case .doubles(let intervals)?:
      guard let value = JSONNumber.double(bytes) else { return nil }
      return intervals.containsOne { $0.place(beside: value) }
    case .exact(let comparison, let literal, let integer, let double)?:
      if let integer, let value = JSONNumber.shortInteger(bytes) {
        return comparison.holds(value < integer ? .less : value == integer ? .equal : .greater)
      }
      guard let value = JSONNumber.double(bytes) else { return nil }
      if value == double { return bytes.elementsEqual(literal.text.utf8) ? comparison.holds(.equal) : nil }
      return comparison.holds(value < double ? .less : .greater)
    }
  }

  /// Texts of ASCII are in the order of their bytes, and equal to others of the same composed form alone.
  private func holds(text bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
    let content = UnsafeRawBufferPointer(bytes)
    switch text {
    case nil: return nil
    case .always(let answer)?: return answer
    case .begins(let prefix)?:
      return bytes.count >= prefix.count
        && prefix.withUnsafeBytes { compareKeys(UnsafeRawBufferPointer(rebasing: content[..<prefix.count]), $0) } == 0
    case .ranges(let ranges)?:
      return ranges.containsOne { range in
        let lower = range.lower?.withUnsafeBytes { compareKeys(content, $0) } ?? 1
        guard lower > 0 || lower == 0 && range.includesLower else { return 1 }
        let upper = range.upper?.withUnsafeBytes { compareKeys(content, $0) } ?? -1
        return upper < 0 || upper == 0 && range.includesUpper ? 0 : -1
      }
    }
  }
}

extension JSONToken {
  /// The bytes between the ends of a token.
  @inline(__always)
  package func content(in bytes: UnsafeRawBufferPointer) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes.bindMemory(to: UInt8.self)[Int(start)..<Int(end)])
  }
}

extension KeyInterval {
  /// The integers of 64 bits in it; nil if there is none.
  fileprivate var integers: ClosedRange<Int64>? {
    var (first, last) = (Int64.min, Int64.max)
    switch lower {
    case .open: break
    // Beyond all integers of 64 bits.
    case .including(.decimal(let text)), .excluding(.decimal(let text)): if text.first != "-" { return nil }
    case .including(.integer(let value)): first = value
    case .excluding(.integer(let value)) where value < .max: first = value + 1
    default: return nil
    }
    switch upper {
    case .open, .including(.unsigned), .excluding(.unsigned): break
    case .including(.decimal(let text)), .excluding(.decimal(let text)): if text.first == "-" { return nil }
    case .including(.integer(let value)): last = value
    case .excluding(.integer(let value)) where value > .min: last = value - 1
    default: return nil
    }
    return first <= last ? first...last : nil
  }

  /// Negative if the interval lies before a value, 0 if the value is in it.
  fileprivate func place(beside value: Double) -> Int {
    let isAbove =
      switch lower {
      case .including(.double(let bound)): value >= bound
      case .excluding(.double(let bound)): value > bound
      default: true
      }
    let isBelow =
      switch upper {
      case .including(.double(let bound)): value <= bound
      case .excluding(.double(let bound)): value < bound
      default: true
      }
    return isAbove ? isBelow ? 0 : -1 : 1
  }
}

extension KeyEncoding {
  /// Intervals in the order of their lower ends.
  fileprivate func sorted(_ intervals: [KeyInterval]) -> [KeyInterval] {
    guard intervals.count > 1 else { return intervals }
    return intervals.map { (end: $0.lower.value.flatMap { try? encode($0) } ?? [], interval: $0) }
      .sorted { $0.end.precedes($1.end) }.map(\.interval)
  }
}

extension Array {
  /// Looks by halves for the one element that lies neither before (negative) nor behind what is looked for.
  fileprivate func containsOne(at place: (Element) -> Int) -> Bool {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let place = place(self[middle])
      if place == 0 { return true }
      if place < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }
}

extension KeyInterval.Bound {
  fileprivate var text: [UInt8]? {
    if case .string(let text)? = value { Array(NormalForm.composed(text).utf8) } else { nil }
  }

  fileprivate var isIncluding: Bool { if case .including = self { true } else { false } }
}
