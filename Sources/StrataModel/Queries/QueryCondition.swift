package import StrataDocuments
package import StrataExpressions

/// The condition of a query, in the form that the planner reads: it shows which parts an index can serve.
package indirect enum QueryCondition: Sendable {
  case all([QueryCondition])
  case any([QueryCondition])
  case not(QueryCondition)
  case term(IndexableTerm, text: String)
  /// A condition that only the record can decide.
  case test(text: String)

  /// Every record meets it.
  package static let always = QueryCondition.all([])
  /// No record meets it.
  package static let never = QueryCondition.any([])

  private var isAlways: Bool { if case .all(let parts) = self { parts.isEmpty } else { false } }
  private var isNever: Bool { if case .any(let parts) = self { parts.isEmpty } else { false } }

  /// Both conditions; one of them if the other is constant.
  package static func both(_ first: Self, _ second: Self) -> Self {
    if first.isNever || second.isNever { return .never }
    return first.isAlways ? second : second.isAlways ? first : .all([first, second])
  }

  /// At least one of the conditions; one of them if the other is constant.
  package static func either(_ first: Self, _ second: Self) -> Self {
    if first.isAlways || second.isAlways { return .always }
    return first.isNever ? second : second.isNever ? first : .any([first, second])
  }

  package static func opposite(of condition: Self) -> Self {
    if case .not(let inner) = condition { return inner }
    return condition.isAlways ? .never : condition.isNever ? .always : .not(condition)
  }

  /// The conditions that it is made of; none of a condition of its own.
  var parts: [QueryCondition] {
    switch self {
    case .all(let parts), .any(let parts): parts
    case .not(let inner): [inner]
    case .term, .test: []
    }
  }

  /// The opposite as a condition of opposites of the parts; nil of a condition without parts.
  var opposites: Self? {
    switch self {
    case .all(let parts): .any(parts.map { .opposite(of: $0) })
    case .any(let parts): .all(parts.map { .opposite(of: $0) })
    case .not(let inner): inner
    case .term, .test: nil
    }
  }

  /// The condition as a user reads it.
  package var text: String {
    switch self {
    case .all(let parts): parts.map { $0.isAlternative ? "(\($0.text))" : $0.text }.joined(separator: " and ")
    case .any(let parts): isNever ? "false" : parts.map(\.text).joined(separator: " or ")
    case .not(let inner): "not (\(inner.text))"
    case .term(_, let text), .test(let text): text
    }
  }

  private var isAlternative: Bool { if case .any = self { true } else { false } }

  var conjuncts: [QueryCondition] {
    if case .all(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
  }

  fileprivate init(_ condition: Filter.Condition) {
    switch condition {
    case .all(let parts): self = .all(parts.map { QueryCondition($0) })
    case .any(let parts): self = .any(parts.map { QueryCondition($0) })
    case .not(let inner): self = .not(QueryCondition(inner))
    case .range: self = .all(condition.parts.map { QueryCondition($0) })
    default:
      let text = condition.description
      self = Filter.term(condition).map { .term($0, text: text) } ?? .test(text: text)
    }
  }
}

/// The value of a record that a term or a sort uses.
package enum QuerySubject: Hashable, Sendable {
  case path(DocumentPath)
  /// A property of the app's type, by the number that the typed library gave its key path.
  case property(Int)
}

/// One property that a query is sorted by.
package struct QuerySort: Hashable, Sendable {
  package var subject: QuerySubject
  package var isDescending: Bool

  package init(_ subject: QuerySubject, isDescending: Bool = false) {
    self.subject = subject
    self.isDescending = isDescending
  }
}

extension Filter {
  /// The condition in the planner's form.
  package var queryCondition: QueryCondition { QueryCondition(condition) }
}
