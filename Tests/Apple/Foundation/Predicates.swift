// What the sources use of Foundation's predicates, with the availability as published.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
public protocol PredicateExpression<Output> {
  associatedtype Output
  func evaluate(_ bindings: PredicateBindings) throws -> Output
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
public protocol StandardPredicateExpression<Output>: PredicateExpression, Codable, Sendable {}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
public struct PredicateBindings {
  public init<each Value>(_ value: repeat (PredicateExpressions.Variable<each Value>, each Value)) { fatalError() }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
public struct Predicate<each Input>: Sendable {
  public let expression: any StandardPredicateExpression<Bool>
  public let variable: (repeat PredicateExpressions.Variable<each Input>)
  public init(
    _ builder: (repeat PredicateExpressions.Variable<each Input>) -> any StandardPredicateExpression<Bool>
  ) { fatalError() }
  public func evaluate(_ input: repeat each Input) throws -> Bool { fatalError() }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@freestanding(expression)
public macro Predicate<each Input>(_ body: (repeat each Input) -> Bool) -> Predicate<repeat each Input> =
  #externalMacro(module: "FoundationMacros", type: "PredicateMacro")

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
public enum PredicateExpressions {
  public struct VariableID: Hashable, Codable, Sendable {
    public init(from decoder: any Decoder) throws { fatalError() }
    public func encode(to encoder: any Encoder) throws { fatalError() }
    public static func == (one: VariableID, other: VariableID) -> Bool { fatalError() }
    public func hash(into hasher: inout Hasher) { fatalError() }
  }

  public struct Variable<Output>: StandardPredicateExpression {
    public let key: VariableID
    public init() { fatalError() }
    public func evaluate(_ bindings: PredicateBindings) throws -> Output { fatalError() }
    public init(from decoder: any Decoder) throws { fatalError() }
    public func encode(to encoder: any Encoder) throws { fatalError() }
  }

  public struct Value<Output>: PredicateExpression {
    public let value: Output
    public init(_ value: Output) { fatalError() }
    public func evaluate(_ bindings: PredicateBindings) throws -> Output { fatalError() }
  }

  public struct KeyPath<Root: PredicateExpression, Output>: PredicateExpression {
    public let root: Root
    public let keyPath: Swift.KeyPath<Root.Output, Output> & Sendable
    public init(root: Root, keyPath: Swift.KeyPath<Root.Output, Output> & Sendable) { fatalError() }
    public func evaluate(_ bindings: PredicateBindings) throws -> Output { fatalError() }
  }

  public struct NilLiteral<Wrapped>: PredicateExpression {
    public func evaluate(_ bindings: PredicateBindings) throws -> Wrapped? { fatalError() }
  }

  public struct NilCoalesce<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output? {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> RHS.Output { fatalError() }
  }

  public struct Conditional<Test: PredicateExpression, If: PredicateExpression, Else: PredicateExpression>:
    PredicateExpression
  where Test.Output == Bool, If.Output == Else.Output {
    public let test: Test
    public let trueBranch: If
    public let falseBranch: Else
    public func evaluate(_ bindings: PredicateBindings) throws -> If.Output { fatalError() }
  }

  public struct Conjunction<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == Bool, RHS.Output == Bool {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Disjunction<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == Bool, RHS.Output == Bool {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Negation<Wrapped: PredicateExpression>: PredicateExpression where Wrapped.Output == Bool {
    public let wrapped: Wrapped
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Equal<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Equatable {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct NotEqual<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Equatable {
    public let lhs: LHS
    public let rhs: RHS
    public init(lhs: LHS, rhs: RHS) { fatalError() }
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Comparison<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public enum Operator: Codable, Sendable { case lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual }
    public let op: Operator
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Range<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public let lower: LHS
    public let upper: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Swift.Range<LHS.Output> { fatalError() }
  }

  public struct ClosedRange<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public let lower: LHS
    public let upper: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Swift.ClosedRange<LHS.Output> { fatalError() }
  }

  public struct RangeExpressionContains<RangeExpression: PredicateExpression, Element: PredicateExpression>:
    PredicateExpression
  where RangeExpression.Output: Swift.RangeExpression, Element.Output == RangeExpression.Output.Bound {
    public let range: RangeExpression
    public let element: Element
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct SequenceContains<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output: Sequence, LHS.Output.Element: Equatable, RHS.Output == LHS.Output.Element {
    public let sequence: LHS
    public let element: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct SequenceStartsWith<Base: PredicateExpression, Prefix: PredicateExpression>: PredicateExpression
  where
    Base.Output: Sequence, Prefix.Output: Sequence, Base.Output.Element == Prefix.Output.Element,
    Base.Output.Element: Equatable
  {
    public let base: Base
    public let prefix: Prefix
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct OptionalFlatMap<
    LHS: PredicateExpression, Wrapped, RHS: PredicateExpression, Result
  >: PredicateExpression where LHS.Output == Wrapped? {
    public let wrapped: LHS
    public let transform: RHS
    public let variable: Variable<Wrapped>
    public func evaluate(_ bindings: PredicateBindings) throws -> Result? { fatalError() }
  }
}

// Such predicates are built by hand, too.

extension PredicateExpressions.Value: Codable where Output: Codable {
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
}

// As in Foundation, the conformance cannot depend on that of `Output` to `Sendable`. Nothing here runs.
extension PredicateExpressions.Value: @unchecked Sendable {}
extension PredicateExpressions.Value: StandardPredicateExpression where Output: Codable {}

extension PredicateExpressions.KeyPath: Codable where Root: Codable {
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
}

extension PredicateExpressions.KeyPath: Sendable where Root: Sendable {}
extension PredicateExpressions.KeyPath: StandardPredicateExpression where Root: StandardPredicateExpression {}

extension PredicateExpressions.NotEqual: Codable where LHS: Codable, RHS: Codable {
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
}

extension PredicateExpressions.NotEqual: Sendable where LHS: Sendable, RHS: Sendable {}
extension PredicateExpressions.NotEqual: StandardPredicateExpression
where LHS: StandardPredicateExpression, RHS: StandardPredicateExpression {}
