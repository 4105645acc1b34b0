import FoundationEssentials

/// The properties that a predicate names, for a message.
enum PredicateProperties {
  static func names<Instance>(in predicate: Predicate<Instance>, _ type: Instance.Type) -> [String] {
    paths(in: predicate.expression).compactMap { KeyPathName.path(of: $0, from: type).map { String($0.dropFirst()) } }
  }

  /// Nodes hold their parts as stored properties.
  private static func paths(in node: Any) -> [AnyKeyPath] {
    if let path = PredicateReading.property(node) { return [path] }
    return Mirror(reflecting: node).children.flatMap { child in
      child.value is any PredicateExpression ? paths(in: child.value) : []
    }
  }
}
