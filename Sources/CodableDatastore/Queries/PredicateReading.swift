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

/// The ends of a range; nil for one that is open.
private typealias RangeBounds = (lower: Any?, upper: Any?, includesUpper: Bool)

private protocol RangeNode {
  var bounds: RangeBounds? { get }
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
    return test(place, place.flatMap { properties.property(at: $0) }, text: text) { keys in
      try unwrapped.intervals(of: node, keys, intervals(keys)).map { .keys($0, keys.encoding, isExact: true) }
    }
  }

  func test(
    _ place: PropertyPlace?, _ found: (number: Int, keys: KeyMaking)?, isElement: Bool = false, text: String,
    _ test: (KeyMaking) throws -> IndexableTerm.Test?
  ) -> QueryCondition {
    let whole = "\(place.map { properties.name(of: $0) } ?? "predicate")\(text)"
    if let place, found.map({ !properties.leading.contains($0.number) }) ?? true { missing?.note(place, for: whole) }
    guard let (number, keys) = found, let test = try? test(keys) else { return .test(text: whole) }
    return .term(IndexableTerm(.property(number), isElement: isElement, test), text: whole)
  }

  fileprivate func comparison(_ left: Any, _ symbol: String, _ right: Any) -> QueryCondition? {
    guard let constant = PredicateConstant.value(of: right) else { return nil }
    if symbol == "==", (constant as? any AnyOptional)?.isNone == true,
      let absence = property(left).flatMap({ presence(of: $0, is: false) })
    {
      return absence
    }
    return term(left, symbol, [constant], text: " \(symbol) \(Self.shown(constant))")
  }

  /// The comparison of a property, or of another value if that is nil, with any of some constants.
  func term(_ left: Any, _ symbol: String, _ constants: [Any], text: String) -> QueryCondition {
    let coalesced = (left as? any CoalescedNode)?.coalesced
    let fallback = coalesced.map { " ?? \(Self.shown($0.absent))" } ?? ""
    return term(coalesced?.wrapped ?? left, text: fallback + text) { keys in
      var intervals: [KeyInterval] = []
      var seen: Set<KeyInterval> = []
      for constant in constants {
        guard let found = try keys.intervals(symbol, constant, absent: coalesced?.absent) else { return nil }
        intervals += found.filter { seen.insert($0).inserted }
      }
      return intervals
    }
  }

  fileprivate func contains(_ bounds: RangeBounds, _ element: Any) -> QueryCondition {
    let (lower, upper) = (bounds.lower.map(Self.shown) ?? "", bounds.upper.map(Self.shown) ?? "")
    return term(element, text: " in \(lower)\(bounds.includesUpper ? "..." : "..<")\(upper)") { keys in
      let (low, high) = (try bounds.lower.map(keys.key), try bounds.upper.map(keys.key))
      guard low != .some(nil), high != .some(nil) else { return nil }
      return [
        KeyInterval(
          lower: (low ?? nil).map { .including($0) } ?? .open,
          upper: (high ?? nil).map { bounds.includesUpper ? .including($0) : .excluding($0) } ?? .open)
      ]
    }
  }

  static func shown(_ value: Any) -> String {
    if let text = value as? String ?? (value as? FoldedText)?.text { return "\"\(text)\"" }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { shown($0.value) } ?? "nil" }
    return "\(value)"
  }

  fileprivate func equality(_ left: Any, _ right: Any) -> QueryCondition? {
    equality(ofClosure: left, right) ?? equality(ofClosure: right, left) ?? comparison(left, "==", right)
      ?? comparison(right, "==", left)
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
    guard reading.property((wrapped as? any CoalescedNode)?.coalesced?.wrapped ?? wrapped) != nil else {
      return .opposite(of: reading.condition(of: wrapped))
    }
    return reading.term(wrapped, "==", [false], text: " == false")
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
    guard !symbol.isEmpty else { return nil }
    return reading.comparison(lhs, symbol, rhs) ?? reading.comparison(rhs, mirrored, lhs)
  }
}

extension PredicateExpressions.RangeExpressionContains: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    (range as? any RangeNode)?.bounds.map { reading.contains($0, element) }
  }
}

extension PredicateExpressions.SequenceContains: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    if case .path(let path)? = reading.property(sequence), let constant = PredicateConstant.value(of: element) {
      let (found, text) = (reading.properties.elements(at: path), " contains \(PredicateReading.shown(constant))")
      return reading.test(.path(path), found, isElement: true, text: text) { keys in
        try keys.intervals("==", constant).map { .keys($0, keys.encoding, isExact: true) }
      }
    }
    if let bounds = (sequence as? any RangeNode)?.bounds { return reading.contains(bounds, element) }
    guard let list = PredicateConstant.value(of: sequence) as? any Sequence else { return nil }
    let values = list.map { $0 as Any }
    return reading.term(element, "==", values, text: " in [\(values.shortText(PredicateReading.shown))]")
  }
}

extension PredicateExpressions.SequenceStartsWith: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    let constant = PredicateConstant.value(of: prefix)
    guard let text = constant as? String ?? (constant as? FoldedText)?.text else { return nil }
    // `($0.note ?? "").starts(with: "n")`: nil begins with nothing.
    let coalesced = (base as? any CoalescedNode)?.coalesced
    let absent = coalesced?.absent as? String ?? (coalesced?.absent as? FoldedText)?.text
    let base: Any = absent?.starts(with: text) == false ? coalesced?.wrapped ?? base : base
    guard let place = reading.property(base) else { return nil }
    let (found, whole) = (reading.properties.property(at: place), " starts with \"\(text)\"")
    guard text.isEmpty else { return reading.test(place, found, text: whole) { _ in .begins(text) } }
    // Every text begins with it.
    return reading.term(base, text: whole) { keys in [KeyInterval(lower: keys.null.map { .excluding($0) } ?? .open)] }
  }
}

// MARK: - Operands

extension PredicateExpressions.KeyPath: PropertyNode {
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? {
    if let variable = root as? any VariableNode {
      return unwrapped[variable].map { $0.unwrapped(keyPath) } ?? .path(keyPath)
    }
    switch (root as? any PropertyNode)?.place(unwrapped) {
    case .path(let outer)?: return outer.appending(path: keyPath).map { .path($0) }
    case .chain(let outer, _)?: return PropertyPlace.path(keyPath).name.map { .chain(outer + $0, Output.self) }
    case nil: return nil
    }
  }
}

/// A property at a path of any number of steps. Foundation's node for one stops the program if the path has several.
struct PropertyAtPath<Root: Sendable, Output: Sendable>: StandardPredicateExpression, PropertyNode {
  let root: PredicateExpressions.Variable<Root>
  let keyPath: any KeyPath<Root, Output> & Sendable

  init(root: PredicateExpressions.Variable<Root>, keyPath: any KeyPath<Root, Output> & Sendable) {
    (self.root, self.keyPath) = (root, keyPath)
  }

  func evaluate(_ bindings: PredicateBindings) throws -> Output { try root.evaluate(bindings)[keyPath: keyPath] }
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? { .path(keyPath) }

  init(from decoder: any Decoder) throws { throw Self.isNotStored }
  func encode(to encoder: any Encoder) throws { throw Self.isNotStored }
  private static var isNotStored: InvalidQueryError { InvalidQueryError(reason: "The condition cannot be stored.") }
}

extension PredicateExpressions.KeyPath: ConditionNode {}
extension PredicateExpressions.Variable: ConditionNode {}

/// `$0.isOpen`: true for itself.
extension ConditionNode where Self: PropertyNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    reading.term(self, text: "") { keys in try keys.intervals("==", true) }
  }
}

/// `$0.due ?? other`, or a property of it: `($0.note ?? "").folded`.
protocol CoalescedNode {
  /// The optional, and what stands in its place; nil if the node is none of these.
  var coalesced: (wrapped: Any, absent: Any)? { get }
}

extension PredicateExpressions.NilCoalesce: CoalescedNode {
  var coalesced: (wrapped: Any, absent: Any)? { PredicateConstant.value(of: rhs).map { (lhs, $0) } }
}

extension PredicateExpressions.KeyPath: CoalescedNode {
  var coalesced: (wrapped: Any, absent: Any)? {
    // The key of a property that may be nil itself does not tell which of the two is nil.
    guard !(Output.self is any AnyOptional.Type), let (wrapped, absent) = (root as? any CoalescedNode)?.coalesced,
      let absent = absent as? Root.Output
    else { return nil }
    return (PropertyOfOptional(root: wrapped, keyPath: keyPath), absent[keyPath: keyPath])
  }
}

/// `$0.note?.folded`.
private struct PropertyOfOptional: PropertyNode, PathNode {
  let root: Any
  let keyPath: AnyKeyPath

  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? {
    (root as? any PropertyNode)?.place(unwrapped)?.unwrapped(keyPath)
  }
}

extension PredicateExpressions.Value: RangeNode {
  fileprivate var bounds: RangeBounds? { (value as? any RangeNode)?.bounds }
}

extension PredicateExpressions.Range: RangeNode {
  fileprivate var bounds: RangeBounds? {
    PredicateConstant.values(of: lower, upper).map { ($0, $1, false) }
  }
}

extension PredicateExpressions.ClosedRange: RangeNode {
  fileprivate var bounds: RangeBounds? {
    PredicateConstant.values(of: lower, upper).map { ($0, $1, true) }
  }
}

extension Range: RangeNode { fileprivate var bounds: RangeBounds? { (lowerBound, upperBound, false) } }
extension ClosedRange: RangeNode { fileprivate var bounds: RangeBounds? { (lowerBound, upperBound, true) } }
extension PartialRangeFrom: RangeNode { fileprivate var bounds: RangeBounds? { (lowerBound, nil, false) } }
extension PartialRangeUpTo: RangeNode { fileprivate var bounds: RangeBounds? { (nil, upperBound, false) } }
extension PartialRangeThrough: RangeNode { fileprivate var bounds: RangeBounds? { (nil, upperBound, true) } }
