import StrataFoundation
import StrataModel

// Finds the part of a `#Predicate` that an index can answer. Each node of the expression returns its part. A node that is not
// known here is not an error: it is evaluated on each candidate.

protocol ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition?
}

protocol PropertyNode {
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace?
}

private protocol RangeNode {
  var bounds: (lower: Any, upper: Any, includesUpper: Bool)? { get }
}

/// Reads a predicate for the planner, by the properties that the indexes of a format are over.
struct PredicateReading {
  let properties: IndexedProperties
  var missing: MissingIndexes?
  var unwrapped = UnwrappedVariables()

  func condition(of expression: Any) -> QueryCondition {
    if let constant = PredicateConstant.value(of: expression) as? Bool { return constant ? .always : .never }
    return (expression as? any ConditionNode)?.condition(self) ?? .test(text: "predicate")
  }

  func property(_ node: Any) -> PropertyPlace? { (node as? any PropertyNode)?.place(unwrapped) }

  func term(_ node: Any, text: String, _ intervals: (KeyMaking) throws -> [KeyInterval]?) -> QueryCondition {
    let place = property(node)
    let whole = "\(place.map { properties.name(of: $0) } ?? "predicate")\(text)"
    guard let place else { return .test(text: whole) }
    guard let (number, keys) = properties.property(at: place) else {
      missing?.note(place, for: whole)
      return .test(text: whole)
    }
    guard let intervals = try? unwrapped.intervals(of: node, keys, intervals(keys))
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
      if Self.isNaN(constant), keys.encoding.content == .double || keys.encoding.content == .float { return [] }
      return try keys.key(constant).map { [interval($0)] }
    }
  }

  /// The intervals of `(property ?? absent) < constant`: that of the values, and that of nil if `absent` meets the comparison.
  static func intervals(
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

  fileprivate func equality(_ left: Any, _ right: Any) -> QueryCondition? {
    equality(ofClosure: left, right) ?? equality(ofClosure: right, left) ?? comparison(left, right, "==", Self.one)
      ?? comparison(right, left, "==", Self.one)
  }

  static func one(_ key: KeyValue) -> KeyInterval { KeyInterval(lower: .including(key), upper: .including(key)) }

  fileprivate func elementTerm(_ path: AnyKeyPath, _ constant: Any) -> QueryCondition {
    let text = "\(properties.name(of: path)) contains \(Self.shown(constant))"
    guard let (number, keys) = properties.elements(at: path), let key = try? keys.key(constant) else {
      if properties.elements(at: path) == nil { missing?.note(.path(path), for: text) }
      return .test(text: text)
    }
    return .term(
      IndexableTerm(.property(number), isElement: true, .keys([Self.one(key)], keys.encoding, isExact: true)),
      text: text)
  }
}

// MARK: - Conditions

extension PredicateExpressions.Conjunction: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    .both(reading.condition(of: lhs), reading.condition(of: rhs))
  }
}

extension PredicateExpressions.Disjunction: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    .either(reading.condition(of: lhs), reading.condition(of: rhs))
  }
}

extension PredicateExpressions.Negation: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    // One value of a Boolean can be a tier before others, which a complement cannot.
    guard reading.property(wrapped) != nil else { return .opposite(of: reading.condition(of: wrapped)) }
    return reading.term(wrapped, text: " == false") { keys in try keys.key(false).map { [PredicateReading.one($0)] } }
  }
}

/// `isStrict ? a : b`.
extension PredicateExpressions.Conditional: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    let test = reading.condition(of: test)
    let (met, unmet) = (reading.condition(of: trueBranch), reading.condition(of: falseBranch))
    return .either(.both(test, met), .both(.opposite(of: test), unmet))
  }
}

extension PredicateExpressions.Equal: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? { reading.equality(lhs, rhs) }
}

extension PredicateExpressions.NotEqual: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    reading.equality(lhs, rhs).map { .opposite(of: $0) }
  }
}

extension PredicateExpressions.Comparison: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
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
  func condition(_ reading: PredicateReading) -> QueryCondition? {
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
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    if case .path(let path)? = reading.property(sequence),
      let constant = PredicateConstant.value(of: element)
    {
      return reading.elementTerm(path, constant)
    }
    guard let list = PredicateConstant.value(of: sequence) as? any Sequence else { return nil }
    let values = Array<Any>(erasing: list)
    let text = " in [\(values.shortText(PredicateReading.shown))]"
    return reading.term(element, text: text) { keys in
      var intervals: [KeyInterval] = []
      var seen: Set<KeyValue> = []
      for value in values {
        guard let key = try keys.key(value) else { return nil }
        if seen.insert(key).inserted { intervals.append(PredicateReading.one(key)) }
      }
      return intervals
    }
  }
}

extension PredicateExpressions.SequenceStartsWith: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    let constant = PredicateConstant.value(of: prefix)
    guard let text = constant as? String ?? (constant as? FoldedText)?.text else { return nil }
    var base: Any = base
    // `($0.note ?? "").starts(with: "n")`: nil begins with nothing.
    if let coalesced = base as? any CoalescedNode,
      let absent = PredicateConstant.value(of: coalesced.absent) as? String, !absent.starts(with: text)
    {
      base = coalesced.wrapped
    }
    guard let place = reading.property(base) else { return nil }
    let whole = "\(reading.properties.name(of: place)) starts with \"\(text)\""
    guard let (number, _) = reading.properties.property(at: place) else {
      reading.missing?.note(place, for: whole)
      return .test(text: whole)
    }
    guard !text.isEmpty else {
      // Every text begins with it.
      return reading.term(base, text: " starts with \"\"") { keys in
        [KeyInterval(lower: keys.encoding.isOptional ? .excluding(.null) : .open)]
      }
    }
    return .term(IndexableTerm(.property(number), .begins(text)), text: whole)
  }
}

extension [Any] {
  fileprivate init(erasing sequence: some Sequence) { self = sequence.map { $0 as Any } }
}

// MARK: - Operands

extension PredicateExpressions.KeyPath: PropertyNode {
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? {
    if let variable = root as? any VariableNode {
      guard let outer = unwrapped[variable] else { return .path(keyPath) }
      guard let outer = outer.name, let inner = PropertyPlace.path(keyPath).name else { return nil }
      return .chain("\(outer)?\(inner)")
    }
    switch (root as? any PropertyNode)?.place(unwrapped) {
    case .path(let outer)?: return outer.appending(path: keyPath).map { .path($0) }
    case .chain(let outer)?: return PropertyPlace.path(keyPath).name.map { .chain(outer + $0) }
    case nil: return nil
    }
  }
}

/// `$0.isOpen`: true for itself.
extension PredicateExpressions.KeyPath: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    reading.term(self, text: "") { keys in try keys.key(true).map { [PredicateReading.one($0)] } }
  }
}

/// `$0.due ?? other`.
protocol CoalescedNode {
  var wrapped: Any { get }
  var absent: Any { get }
}

extension PredicateExpressions.NilCoalesce: CoalescedNode {
  var wrapped: Any { lhs }
  var absent: Any { rhs }
}

extension PredicateExpressions.Value: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? { (value as? any ConstantRange)?.ends }
}

extension PredicateExpressions.Range: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? {
    PredicateConstant.values(of: lower, upper).map { ($0, $1, false) }
  }
}

extension PredicateExpressions.ClosedRange: RangeNode {
  fileprivate var bounds: (lower: Any, upper: Any, includesUpper: Bool)? {
    PredicateConstant.values(of: lower, upper).map { ($0, $1, true) }
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
