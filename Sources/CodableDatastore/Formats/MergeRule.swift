import Documents

/// How a property is merged that two copies of a store both changed, where not as one value.
///
/// ```swift
/// static let mergeRules: [MergeRule<Instance>] = [.set(\.tags), .counter(\.visits)]
/// ```
///
/// The rules are kept with the datastore, so that tools obey them that do not know its types. A property is looked for in what is stored
/// by its own name: one that coding keys name otherwise has no rule.
public struct MergeRule<Instance>: Sendable {
  /// As the descriptor keeps them; nil where the key path has no name.
  let path: String?
  let rule: String

  private init(_ keyPath: AnyKeyPath, _ rule: String) {
    path = KeyPathName.path(of: keyPath, from: Instance.self)
    self.rule = rule
  }

  /// A list without order: what one side added is in, what one side took out is out.
  ///
  /// A dictionary is no such list. A `Set` needs no rule, nor does a dictionary that is written as a list: both are merged so anyway.
  public static func set<S: Sequence>(_ property: KeyPath<Instance, S>) -> Self where S.Element: Hashable {
    Self(property, "set")
  }

  /// A list whose elements are told apart by a property: merged element by element.
  public static func list<S: Sequence, Name>(
    _ property: KeyPath<Instance, S>, by name: KeyPath<S.Element, Name>
  ) -> Self {
    Self(property, "list by \(KeyPathName.path(of: name, from: S.Element.self) ?? "")")
  }

  /// A list with an order: changes at different places are put together.
  public static func sequence<S: Sequence>(_ property: KeyPath<Instance, S>) -> Self { Self(property, "sequence") }

  /// A text: changes of different lines are put together.
  public static func text(_ property: KeyPath<Instance, String>) -> Self { Self(property, "text") }

  /// A number that both sides count up or down: both changes count.
  public static func counter(_ property: KeyPath<Instance, some FixedWidthInteger>) -> Self {
    Self(property, "counter")
  }

  /// A value that only grows: the greater one stays.
  public static func maximum(_ property: KeyPath<Instance, some Comparable>) -> Self { Self(property, "maximum") }
}

extension DatastoreFormat {
  /// The rules by the paths of their fields.
  static var storedMergeRules: [String: String] {
    Dictionary(mergeRules.compactMap { rule in rule.path.map { ($0, rule.rule) } }) { first, _ in first }
  }
}
