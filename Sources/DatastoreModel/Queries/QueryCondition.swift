package import Documents
package import Expressions

/// What a query asks a record for, in the form that the planner reads: which parts of it an index can answer.
package indirect enum QueryCondition: Sendable {
  case all([QueryCondition])
  case any([QueryCondition])
  case not(QueryCondition)
  case term(IndexableTerm, text: String)
  /// What only a record can tell.
  case test(text: String)

  /// As a person reads it.
  package var text: String {
    switch self {
    case .all(let parts): parts.map { $0.isAlternative ? "(\($0.text))" : $0.text }.joined(separator: " and ")
    case .any(let parts): parts.map(\.text).joined(separator: " or ")
    case .not(let inner): "not (\(inner.text))"
    case .term(_, let text), .test(let text): text
    }
  }

  private var isAlternative: Bool { if case .any = self { true } else { false } }

  /// The parts that must all hold.
  var conjuncts: [QueryCondition] {
    if case .all(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
  }
}

/// What of a record a term or a sort looks at.
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
  /// The condition as the planner reads it.
  package var queryCondition: QueryCondition { QueryCondition(condition) }
}

extension QueryCondition {
  fileprivate init(_ condition: Filter.Condition) {
    switch condition {
    case .all(let parts): self = .all(parts.map { QueryCondition($0) })
    case .any(let parts): self = .any(parts.map { QueryCondition($0) })
    case .not(let inner): self = .not(QueryCondition(inner))
    default:
      let text = condition.description
      self = Filter.term(condition).map { .term($0, text: text) } ?? .test(text: text)
    }
  }
}
