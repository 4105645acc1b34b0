/// A value derived from other parts of a state, and ignored when two states are compared: it may be a text of many megabytes.
@propertyWrapper
struct Derived<Value: Sendable>: Sendable, Equatable {
  var wrappedValue: Value

  static func == (left: Self, right: Self) -> Bool { true }
}
