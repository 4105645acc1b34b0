import StrataFoundation

/// Parts of a predicate in which no instance occurs: `album.id`, `k * 3`, `-5`. They are the same for every instance.
enum PredicateConstant {
  /// The value of a part, evaluated once; nil if an instance or an element of a list occurs in it, or evaluating it throws.
  static func value(of node: Any) -> Any? {
    guard let node = node as? any PredicateExpression, !hasVariable(node) else { return nil }
    func evaluated(_ node: some PredicateExpression) throws -> Any { try node.evaluate(PredicateBindings()) }
    return try? evaluated(node)
  }

  static func values(of first: Any, _ second: Any) -> (Any, Any)? {
    value(of: first).flatMap { first in value(of: second).map { (first, $0) } }
  }

  /// Nodes hold their parts as stored properties.
  private static func hasVariable(_ node: Any) -> Bool {
    if node is any VariableNode { return true }
    return Mirror(reflecting: node).children.contains { child in
      child.value is any PredicateExpression && hasVariable(child.value)
    }
  }
}

/// A condition as a text that is the same in every process, and for every equal captured set or dictionary.
enum PredicateText {
  static func text(of predicate: Predicate<some Any>) -> String {
    // The order of their elements differs from process to process.
    sets(in: predicate.expression).reduce("\(predicate)") { text, set in
      text.replacing("\(set)", with: "\(set.map { String(reflecting: $0) }.sorted())")
    }
  }

  /// Nodes hold their parts as stored properties.
  private static func sets(in node: Any) -> [any CapturedSet] {
    Mirror(reflecting: node).children.flatMap { child in
      if let set = child.value as? any CapturedSet { return [set] }
      return child.value is any PredicateExpression ? sets(in: child.value) : []
    }
  }
}

private protocol CapturedSet: Collection {}
extension Set: CapturedSet {}
extension Dictionary: CapturedSet {}

/// The instance, or an element of a list that a closure looks at.
protocol VariableNode {
  var key: PredicateExpressions.VariableID { get }
}
extension PredicateExpressions.Variable: VariableNode {}
