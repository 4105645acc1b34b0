/// A value that never changes, in memory of its own: a copy counts one reference, whatever the value consists of.
final class Shared<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}
