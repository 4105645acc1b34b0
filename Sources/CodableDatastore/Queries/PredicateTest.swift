import StrataFoundation

/// A predicate as closures, made once for many instances. It has the same result as `Predicate.evaluate`.
///
/// `evaluate` makes a dictionary of the variables for each instance, and copies the instance out of it at each property. That takes
/// about a microsecond, far more than the comparisons. A node that is not known here is still evaluated in that way.
struct PredicateTest<Instance> {
  private let test: NodeClosure<Instance, Bool>

  init(_ predicate: Predicate<Instance>) { test = nodeClosure(of: predicate.expression, over: predicate.variable) }

  /// Whether an instance meets the predicate; throws what its evaluation throws.
  func holds(_ instance: Instance) throws -> Bool { try test.call(instance) }
}

/// A node as a function of the instance.
private struct NodeClosure<Instance, Output> {
  let call: (Instance) throws -> Output
}

/// The variable of a predicate, which stands for the instance.
private typealias InstanceVariable<Instance> = PredicateExpressions.Variable<Instance>

private protocol ClosureNode: PredicateExpression {
  /// Nil if it is evaluated as it stands.
  func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>?
}

private func nodeClosure<Node: PredicateExpression, Instance>(
  of node: Node, over variable: InstanceVariable<Instance>
) -> NodeClosure<Instance, Node.Output> {
  func known(_ node: some ClosureNode) -> Any? { node.closure(over: variable) }
  if let node = node as? any ClosureNode, let closure = known(node) as? NodeClosure<Instance, Node.Output> {
    return closure
  }
  // Two steps: nil means that there is no constant, but a constant of an optional type may itself be nil.
  if let value = PredicateConstant.value(of: node), let constant = value as? Node.Output {
    return NodeClosure { _ in constant }
  }
  return NodeClosure { instance in try node.evaluate(PredicateBindings((variable, instance))) }
}

extension PredicateExpressions.Variable: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    guard key == variable.key else { return nil }
    return NodeClosure<Instance, Instance> { $0 } as? NodeClosure<Instance, Output>
  }
}

extension PredicateExpressions.KeyPath: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let keyPath = keyPath
    if let own = root as? PredicateExpressions.Variable<Instance>, own.key == variable.key,
      let path = keyPath as? Swift.KeyPath<Instance, Output>
    {
      return NodeClosure { $0[keyPath: path] }
    }
    let root = nodeClosure(of: root, over: variable)
    return NodeClosure { try root.call($0)[keyPath: keyPath] }
  }
}

extension PropertyAtPath: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    (keyPath as? KeyPath<Instance, Output>).map { path in NodeClosure { $0[keyPath: path] } }
  }
}

extension PredicateExpressions.Value: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let value = value
    return NodeClosure { _ in value }
  }
}

extension PredicateExpressions.Conjunction: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let (left, right) = (nodeClosure(of: lhs, over: variable), nodeClosure(of: rhs, over: variable))
    return NodeClosure { instance in try left.call(instance) && right.call(instance) }
  }
}

extension PredicateExpressions.Disjunction: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let (left, right) = (nodeClosure(of: lhs, over: variable), nodeClosure(of: rhs, over: variable))
    return NodeClosure { instance in try left.call(instance) || right.call(instance) }
  }
}

extension PredicateExpressions.Negation: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let inner = nodeClosure(of: wrapped, over: variable)
    return NodeClosure { try !inner.call($0) }
  }
}

extension PredicateExpressions.Equal: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let (left, right) = (nodeClosure(of: lhs, over: variable), nodeClosure(of: rhs, over: variable))
    return NodeClosure { instance in try left.call(instance) == right.call(instance) }
  }
}

extension PredicateExpressions.NotEqual: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let (left, right) = (nodeClosure(of: lhs, over: variable), nodeClosure(of: rhs, over: variable))
    return NodeClosure { instance in try left.call(instance) != right.call(instance) }
  }
}

extension PredicateExpressions.Comparison: ClosureNode {
  fileprivate func closure<Instance>(over variable: InstanceVariable<Instance>) -> NodeClosure<Instance, Output>? {
    let (left, right) = (nodeClosure(of: lhs, over: variable), nodeClosure(of: rhs, over: variable))
    switch op {
    case .lessThan: return NodeClosure { try left.call($0) < right.call($0) }
    case .lessThanOrEqual: return NodeClosure { try left.call($0) <= right.call($0) }
    case .greaterThan: return NodeClosure { try left.call($0) > right.call($0) }
    case .greaterThanOrEqual: return NodeClosure { try left.call($0) >= right.call($0) }
    @unknown default: return nil
    }
  }
}
