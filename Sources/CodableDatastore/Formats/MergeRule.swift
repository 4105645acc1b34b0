/// A rule for merging a property that two copies of a store both changed, if it is not merged as one value.
///
/// ```swift
/// static let mergeRules: [MergeRule<Instance>] = [.set(\.tags), .counter(\.visits)]
/// ```
///
/// The rules are kept with the datastore, so that tools that do not know its types obey them. A property is looked up in the stored record
/// by its own name: a property for which coding keys use another name has no rule.
public struct MergeRule<Instance>: Sendable {
  /// The path of the property as the descriptor keeps it; nil if the key path has no name.
  let path: String?
  let rule: String

  private init(_ keyPath: AnyKeyPath, _ rule: String) {
    path = KeyPathName.path(of: keyPath, from: Instance.self)
    self.rule = rule
  }

  /// A list without order: an element that one side added is included, an element that one side removed is left out.
  ///
  /// A dictionary is not such a list. A `Set`, or a dictionary that is written as a list, needs no rule: it is merged like this anyway.
  public static func set<S: Sequence>(_ property: KeyPath<Instance, S>) -> Self where S.Element: Hashable {
    Self(property, "set")
  }

  /// A list whose elements are identified by a property: merged element by element.
  public static func list<S: Sequence, Name>(
    _ property: KeyPath<Instance, S>, by name: KeyPath<S.Element, Name>
  ) -> Self {
    Self(property, "list by \(KeyPathName.path(of: name, from: S.Element.self) ?? "")")
  }

  /// A list with an order: changes at different places are combined.
  public static func sequence<S: Sequence>(_ property: KeyPath<Instance, S>) -> Self { Self(property, "sequence") }

  /// A text: changes of different lines are combined.
  public static func text(_ property: KeyPath<Instance, String>) -> Self { Self(property, "text") }

  /// A number that both sides count up or down: both changes count, also if two copies of a store changed it to the same number.
  public static func counter(_ property: KeyPath<Instance, some FixedWidthInteger>) -> Self {
    Self(property, "counter")
  }

  /// A value that only grows: the greater one wins.
  public static func maximum(_ property: KeyPath<Instance, some Comparable>) -> Self { Self(property, "maximum") }
}

extension DatastoreFormat {
  static var storedMergeRules: [String: String] {
    Dictionary(mergeRules.compactMap { rule in rule.path.map { ($0, rule.rule) } }) { first, _ in first }
  }
}
