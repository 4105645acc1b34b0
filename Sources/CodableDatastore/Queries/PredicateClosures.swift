import StrataDocuments
import StrataFoundation
import StrataModel

// Closures over what an optional holds: `if let due = $0.due { due < now } else { false }`, which the compiler writes as
// `$0.due.flatMap { due in due < now } ?? false`.

/// The properties that the variables of closures stand for, without their optionals.
struct UnwrappedVariables {
  private var places: [PredicateExpressions.VariableID: PropertyPlace] = [:]

  subscript(variable: any VariableNode) -> PropertyPlace? { places[variable.key] }

  func binding(_ variable: PredicateExpressions.VariableID, to place: PropertyPlace) -> Self {
    var copy = self
    copy.places[variable] = place
    return copy
  }

  /// The intervals of a node with those left out that nil is in, if the node is a part of what an optional holds; nil if the part
  /// may be nil itself, which its key does not tell from the optional.
  func intervals(of node: Any, _ keys: KeyMaking, _ intervals: [KeyInterval]?) -> [KeyInterval]? {
    guard let intervals, isPart(node) else { return intervals }
    guard let null = keys.null, !Self.isOptional(node) else { return nil }
    return intervals.map { $0.excluding(null) }
  }

  /// Whether a node is the variable of a closure, or a property of it.
  private func isPart(_ node: Any) -> Bool {
    if let variable = node as? any VariableNode { return self[variable] != nil }
    return (node as? any PathNode).map { isPart($0.root) } ?? false
  }

  private static func isOptional(_ node: Any) -> Bool {
    func output<Node: PredicateExpression>(_ node: Node) -> Any.Type { Node.Output.self }
    return (node as? any PredicateExpression).map { output($0) is any AnyOptional.Type } ?? true
  }
}

protocol AnyOptional {
  static var none: Self { get }
  static var wrapped: Any.Type { get }
  var isNone: Bool { get }
}
extension Optional: AnyOptional {
  static var wrapped: Any.Type { Wrapped.self }
  var isNone: Bool { self == nil }
}

protocol PathNode {
  associatedtype Root
  var root: Root { get }
}

extension PredicateExpressions.KeyPath: PathNode {}

/// A closure over what an optional holds, which binds a variable to that.
protocol UnwrappingNode {
  func binding(_ unwrapped: UnwrappedVariables) -> UnwrappedVariables
  /// The first is true if the optional holds something that the closure answers with true.
  func parts(_ reading: PredicateReading) -> (condition: QueryCondition, presence: QueryCondition)?
}

extension PredicateExpressions.OptionalFlatMap: PropertyNode {
  /// `$0.place?.city`.
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? {
    guard (wrapped as? any PropertyNode)?.place(unwrapped) != nil else { return nil }
    return (transform as? any PropertyNode)?.place(binding(unwrapped))
  }
}

extension PredicateExpressions.OptionalFlatMap: UnwrappingNode {
  func binding(_ unwrapped: UnwrappedVariables) -> UnwrappedVariables {
    (wrapped as? any PropertyNode)?.place(unwrapped).map { unwrapped.binding(variable.key, to: $0) } ?? unwrapped
  }

  func parts(_ reading: PredicateReading) -> (condition: QueryCondition, presence: QueryCondition)? {
    guard let place = reading.property(wrapped) else { return nil }
    var inner = reading
    inner.unwrapped = binding(reading.unwrapped)
    // `if let due = $0.due, let note = $0.note` is a closure within the other.
    let nested = (transform as? any UnwrappingNode)?.parts(inner)
    if nested == nil, RHS.Output.self != Bool.self { return nil }
    let presence = reading.presence(of: place) ?? reading.test(place, nil, text: " != nil") { _ in nil }
    let condition = nested?.condition ?? inner.condition(of: transform)
    let isImplied = condition.implies(presenceOf: reading.properties.numbers(within: place))
    return (isImplied ? condition : .all([condition, presence]), .both(presence, nested?.presence ?? .always))
  }
}

extension PredicateExpressions.Variable: PropertyNode {
  func place(_ unwrapped: UnwrappedVariables) -> PropertyPlace? { unwrapped[self] }
}

extension PredicateReading {
  /// Whether a property that is an optional holds something, or is nil; nil if no index knows.
  func presence(of place: PropertyPlace, is isPresent: Bool = true) -> QueryCondition? {
    let text = "\(properties.name(of: place)) \(isPresent ? "!=" : "==") nil"
    guard let (number, keys) = properties.follower(of: place), let null = keys.null else { return nil }
    let interval: KeyInterval = isPresent ? KeyInterval(lower: .excluding(null)) : .one(null)
    return .term(IndexableTerm(.property(number), .keys([interval], keys.encoding, isExact: true)), text: text)
  }

  /// `$0.due.flatMap { $0 < now } == true`.
  func equality(ofClosure node: Any, _ other: Any) -> QueryCondition? {
    guard let parts = (node as? any UnwrappingNode)?.parts(self),
      let value = PredicateConstant.value(of: other) as? Bool
    else { return nil }
    return value ? parts.condition : .all([.not(parts.condition), parts.presence])
  }
}

/// `if let due = $0.due { due < now } else { … }`, and a Boolean with another value instead of nil.
extension PredicateExpressions.NilCoalesce: ConditionNode {
  func condition(_ reading: PredicateReading) -> QueryCondition? {
    if let parts = (lhs as? any UnwrappingNode)?.parts(reading) {
      return .either(parts.condition, .both(.not(parts.presence), reading.condition(of: rhs)))
    }
    return PredicateConstant.value(of: rhs) is Bool ? reading.term(self, "==", [true], text: "") : nil
  }
}

extension KeyInterval {
  static func one(_ key: KeyValue) -> Self { Self(lower: .including(key), upper: .including(key)) }

  /// The interval without the key of nil, which is before all others.
  func excluding(_ null: KeyValue) -> Self { Self(lower: lower == .open ? .excluding(null) : lower, upper: upper) }

  fileprivate var mayHoldNull: Bool {
    if case .including(let key) = lower { key.document == .null } else { lower == .open }
  }
}

extension QueryCondition {
  /// Whether the condition can hold only where one of these properties is not nil.
  fileprivate func implies(presenceOf numbers: Set<Int>) -> Bool {
    switch self {
    case .all(let parts): parts.contains { $0.implies(presenceOf: numbers) }
    case .any(let parts): parts.allSatisfy { $0.implies(presenceOf: numbers) }
    case .not, .test: false
    case .term(let term, _):
      if case .property(let number) = term.subject, case .keys(let intervals, _, _) = term.test {
        numbers.contains(number) && intervals.allSatisfy { !$0.mayHoldNull }
      } else {
        false
      }
    }
  }
}
