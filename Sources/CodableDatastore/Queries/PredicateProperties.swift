import StrataFoundation

/// The properties that a predicate names, for a message.
enum PredicateProperties {
  /// Nodes hold their parts as stored properties.
  static func places(in node: Any, _ unwrapped: UnwrappedVariables = UnwrappedVariables()) -> [PropertyPlace] {
    if let place = (node as? any PropertyNode)?.place(unwrapped) { return [place] }
    let unwrapped = (node as? any UnwrappingNode)?.binding(unwrapped) ?? unwrapped
    return Mirror(reflecting: node).children.flatMap { child in
      child.value is any PredicateExpression ? places(in: child.value, unwrapped) : []
    }
  }
}
