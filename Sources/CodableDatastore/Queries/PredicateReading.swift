import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What of a `#Predicate` an index can answer. The expression's nodes are asked for their part; what a node does not know
// is no error: it is evaluated on each candidate.

/// A node that is a condition.
private protocol ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition?
}

/// A node that is a property of the instance.
private protocol PropertyNode {
  var place: PropertyPlace? { get }
}

/// A node that is a range of constants.
private protocol RangeNode {
  var bounds: (lower: Any, upper: Any, includesUpper: Bool)? { get }
}

/// Reads a predicate for the planner, by the properties that the indexes of a format are over.
struct PredicateReading {
  let properties: IndexedProperties

  func condition(of expression: Any) -> QueryCondition {
    if PredicateConstant.value(of: expression) as? Bool == true { return .all([]) }
    return (expression as? any ConditionNode)?.condition(self) ?? .test(text: "predicate")
  }

  /// The property that a node is, or nil.
  static func property(_ node: Any) -> PropertyPlace? { (node as? any PropertyNode)?.place }

  fileprivate func term(_ node: Any, text: String, _ intervals: (KeyMaking) throws -> [KeyInterval]?) -> QueryCondition
  {
    let place = Self.property(node)
    let whole = "\(place.map { properties.name(of: $0) } ?? "predicate")\(text)"
    guard let place, let (number, keys) = properties.property(at: place),
      let intervals = try? intervals(keys)
    else { return .test(text: whole) }
    return .term(
      IndexableTerm(.property(number), .keys(intervals, keys.encoding, isExact: true)), text: whole)
  }

  fileprivate func comparison(
    _ left: Any, _ right: Any, _ symbol: String, _ interval: (KeyValue) -> KeyInterval
  ) -> QueryCondition? {
    guard let constant = PredicateConstant.value(of: right) else { return nil }
    let text = " \(symbol) \(Self.shown(constant))"
    if let coalesced = left as? any CoalescedNode, let absent = PredicateConstant.value(of: coalesced.absent) {
      return term(coalesced.wrapped, text: " ?? \(Self.shown(absent))\(text)") { keys in
        try Self.intervals(keys, constant, absent: absent, interval)
      }
    }
    return term(left, text: text) { keys in
      // NaN is neither equal to anything nor less or greater.
      if Self.isNaN(constant), keys.encoding == .double || keys.encoding == .float { return [] }
      return try keys.key(constant).map { [interval($0)] }
    }
  }

  /// The intervals of `(property ?? absent) < constant`: nil where the other value meets the comparison, and what is not nil.
  private static func intervals(
    _ keys: KeyMaking, _ constant: Any, absent: Any, _ interval: (KeyValue) -> KeyInterval
  ) throws -> [KeyInterval]? {
    guard case .optional(let encoding) = keys.encoding, encoding.isByteOrdered, !isNaN(constant),
      let bound = try keys.key(constant), let absent = try keys.key(absent), bound != .null, absent != .null
    else { return nil }
    var present = interval(bound)
    let isMet = try present.contains(absent, in: encoding)
    if present.lower == .open { present.lower = .excluding(.null) }
    return isMet ? [KeyInterval(lower: .including(.null), upper: .including(.null)), present] : [present]
  }

  private static func isNaN(_ value: Any) -> Bool { (value as? any BinaryFloatingPoint)?.isNaN ?? false }

  static func shown(_ value: Any) -> String {
    if let text = value as? String { return "\"\(text)\"" }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { shown($0.value) } ?? "nil" }
    return "\(value)"
  }
}

// MARK: - Conditions

extension PredicateExpressions.Conjunction: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    .all([reading.condition(of: lhs), reading.condition(of: rhs)])
  }
}

extension PredicateExpressions.Disjunction: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    .any([reading.condition(of: lhs), reading.condition(of: rhs)])
  }
}

extension PredicateExpressions.Negation: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? { .not(reading.condition(of: wrapped)) }
}

extension PredicateExpressions.Equal: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    func one(_ key: KeyValue) -> KeyInterval { KeyInterval(lower: .including(key), upper: .including(key)) }
    return reading.comparison(lhs, rhs, "==", one) ?? reading.comparison(rhs, lhs, "==", one)
  }
}

extension PredicateExpressions.NotEqual: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    func one(_ key: KeyValue) -> KeyInterval { KeyInterval(lower: .including(key), upper: .including(key)) }
    return (reading.comparison(lhs, rhs, "==", one) ?? reading.comparison(rhs, lhs, "==", one)).map { .not($0) }
  }
}

extension PredicateExpressions.Comparison: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    let (symbol, mirrored) =
      switch op {
      case .lessThan: ("<", ">")
      case .lessThanOrEqual: ("<=", ">=")
      case .greaterThan: (">", "<")
      case .greaterThanOrEqual: (">=", "<=")
      @unknown default: ("", "")
      }
    func interval(_ symbol: String) -> ((KeyValue) -> KeyInterval)? {
      switch symbol {
      case "<": { KeyInterval(upper: .excluding($0)) }
      case "<=": { KeyInterval(upper: .including($0)) }
      case ">": { KeyInterval(lower: .excluding($0)) }
      case ">=": { KeyInterval(lower: .including($0)) }
      default: nil
      }
    }
    guard let straight = interval(symbol), let turned = interval(mirrored) else { return nil }
    return reading.comparison(lhs, rhs, symbol, straight) ?? reading.comparison(rhs, lhs, mirrored, turned)
  }
}

extension PredicateExpressions.RangeExpressionContains: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    guard let bounds = (range as? any RangeNode)?.bounds else { return nil }
    let symbol = bounds.includesUpper ? "..." : "..<"
    let text = " in \(PredicateReading.shown(bounds.lower))\(symbol)\(PredicateReading.shown(bounds.upper))"
    return reading.term(element, text: text) { keys in
      guard let lower = try keys.key(bounds.lower), let upper = try keys.key(bounds.upper) else { return nil }
      return [
        KeyInterval(lower: .including(lower), upper: bounds.includesUpper ? .including(upper) : .excluding(upper))
      ]
    }
  }
}

extension PredicateExpressions.SequenceContains: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    if case .path(let path)? = PredicateReading.property(sequence),
      let constant = PredicateConstant.value(of: element)
    {
      return reading.elementTerm(path, constant)
    }
    guard let list = PredicateConstant.value(of: sequence) as? any Sequence else { return nil }
    let values = Array<Any>(erasing: list)
    let text = " in [\(values.prefix(8).map(PredicateReading.shown).joined(separator: ", "))]"
    return reading.term(element, text: text) { keys in
      var intervals: [KeyInterval] = []
      for value in values {
        guard let key = try keys.key(value) else { return nil }
        let interval = KeyInterval(lower: .including(key), upper: .including(key))
        if !intervals.contains(interval) { intervals.append(interval) }
      }
      return intervals
    }
  }
}

extension PredicateExpressions.SequenceStartsWith: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    guard let place = PredicateReading.property(base), let text = PredicateConstant.value(of: prefix) as? String,
      !text.isEmpty, let (number, _) = reading.properties.property(at: place)
    else { return nil }
    return .term(
      IndexableTerm(.property(number), .begins(text)),
      text: "\(reading.properties.name(of: place)) starts with \"\(text)\"")
  }
}

extension PredicateReading {
  fileprivate func elementTerm(_ path: AnyKeyPath, _ constant: Any) -> QueryCondition {
    let text = "\(properties.name(of: path)) contains \(Self.shown(constant))"
    guard let (number, keys) = properties.elements(at: path), let key = try? keys.key(constant) else {
      return .test(text: text)
    }
    let interval = KeyInterval(lower: .including(key), upper: .including(key))
    return .term(
      IndexableTerm(.property(number), isElement: true, .keys([interval], keys.encoding, isExact: true)), text: text)
  }
}

extension [Any] {
  fileprivate init(erasing sequence: some Sequence) { self = sequence.map { $0 as Any } }
}

// MARK: - Operands

extension PredicateExpressions.KeyPath: PropertyNode {
  fileprivate var place: PropertyPlace? {
    if root is any VariableNode { return .path(keyPath) }
    guard case .path(let outer)? = (root as? any PropertyNode)?.place else { return nil }
    return outer.appending(path: keyPath).map { .path($0) }
  }
}

/// `$0.isOpen`: true for itself.
extension PredicateExpressions.KeyPath: ConditionNode {
  fileprivate func condition(_ reading: PredicateReading) -> QueryCondition? {
    reading.term(self, text: "") { keys in
      try keys.key(true).map { [KeyInterval(lower: .including($0), upper: .including($0))] }
    }
  }
}

/// `$0.place?.city`.
extension PredicateExpressions.OptionalFlatMap: PropertyNode {
  fileprivate var place: PropertyPlace? {
    guard let outer = (wrapped as? any PropertyNode)?.place?.name,
      let inner = (transform as? any PropertyNode)?.place?.name
    else { return nil }
    return .chain("\(outer)?\(inner)")
  }
}

extension PropertyPlace {
  /// As spelled from wherever it begins.
  fileprivate var name: String? {
    switch self {
    case .path(let path): KeyPathName.path(of: path, from: type(of: path).rootType)
    case .chain(let chain): chain
    }
  }
}

/// `$0.due ?? other`.
private protocol CoalescedNode {
  var wrapped: Any { get }
  var absent: Any { get }
}

extension PredicateExpressions.NilCoalesce: CoalescedNode {
  fileprivate var wrapped: Any { lhs }
  fileprivate var absent: Any { rhs }
}

extension PredicateExpressions.Value: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? { (value as? any ConstantRange)?.ends }
}

extension PredicateExpressions.Range: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? {
    guard let lower = PredicateConstant.value(of: lower), let upper = PredicateConstant.value(of: upper) else {
      return nil
    }
    return (lower, upper, false)
  }
}

extension PredicateExpressions.ClosedRange: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? {
    guard let lower = PredicateConstant.value(of: lower), let upper = PredicateConstant.value(of: upper) else {
      return nil
    }
    return (lower, upper, true)
  }
}

private protocol ConstantRange {
  var ends: (lower: Any, upper: Any, includesUpper: Bool) { get }
}

extension Range: ConstantRange {
  fileprivate var ends: (lower: Any, upper: Any, includesUpper: Bool) { (lowerBound, upperBound, false) }
}

extension ClosedRange: ConstantRange {
  fileprivate var ends: (lower: Any, upper: Any, includesUpper: Bool) { (lowerBound, upperBound, true) }
}
