import StrataLocks
import StrataModel

/// The properties of a predicate on which an index is missing, by the conditions that it would serve.
final class MissingIndexes: Sendable {
  private let declarations = Mutex<[String: String]>([:])

  /// Notes that an index on a property would serve a condition; nothing if it has no name, or if values of its type have no order.
  func note(_ place: PropertyPlace, for condition: String) {
    guard let declaration = place.name.flatMap({ place.declaration(as: $0) }) else { return }
    declarations.withLock { $0[condition] = declaration }
  }

  /// The declarations each of which would serve a condition; none if one serves it already, and nil if none can.
  func declarations(serving condition: QueryCondition, isNegated: Bool = false) -> [String]? {
    switch condition {
    case .term(_, let text): return declarations.withLock { $0[text] }.map { [$0] } ?? []
    case .test(let text): return declarations.withLock { $0[text] }.map { [$0] }
    case .not(let inner): return declarations(serving: inner, isNegated: !isNegated)
    case .all(let parts) where !isNegated, .any(let parts) where isNegated:
      let served = parts.compactMap { declarations(serving: $0, isNegated: isNegated) }
      return served.isEmpty ? nil : served.contains([]) ? [] : Array(served.joined())
    case .all(let parts), .any(let parts):
      // Every one of the alternatives needs an index.
      var needed: [String] = []
      for part in parts {
        guard let served = declarations(serving: part, isNegated: isNegated) else { return nil }
        if let first = served.first, !needed.contains(first) { needed.append(first) }
      }
      return needed.isEmpty ? [] : [needed.joined(separator: " and ")]
    }
  }
}

extension Query {
  /// The declarations that would serve a query that none serves.
  func advice(_ condition: QueryCondition, _ missing: MissingIndexes) -> [String] {
    guard predicates.isEmpty else {
      var advice: [String] = []
      for one in missing.declarations(serving: condition) ?? [] where !advice.contains(one) { advice.append(one) }
      return advice
    }
    let names = sorts.compactMap { PropertyPlace.path($0.path).name }
    guard names.count == sorts.count, let first = sorts.first else { return [] }
    if names.count == 1 { return PropertyPlace.path(first.path).declaration(as: names[0]).map { [$0] } ?? [] }
    // Only an index of just these tiers has the order.
    let tiers = zip(names, sorts).map { $1.isDescending == first.isDescending ? "\\\($0)" : "\\\($0).descending" }
    return tiers.count <= 4 ? ["let order = Index(\(tiers.joined(separator: ", ")))"] : []
  }
}
