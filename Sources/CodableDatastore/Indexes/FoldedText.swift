import StrataDocuments

/// A text without differences of case and of accents, as the value of an index: `Zürich`, `ZURICH` and `zurich` are equal.
///
/// ```swift
/// let name = Index(\.name, folding: .caseAndDiacritics)
/// cities.load("zurich", from: \.name)
/// cities.load(where: #Predicate { $0.name.folded == "zurich" })
/// ```
public struct FoldedText: OrderedKey, DiscreteIndexable, RangedIndexable, ExpressibleByStringLiteral, Sequence {
  /// The text in lower case, without accents.
  public let text: String

  /// Folds a text.
  public init(_ text: String) { self.text = NormalForm.folded(text) }

  /// Folds a literal.
  public init(stringLiteral text: String) { self.init(text) }

  /// The folded text.
  public var keyForm: String { text }

  /// The value of a folded text.
  public init?(keyForm text: String) { self.text = text }

  /// Whether the left folded text comes before the right one.
  public static func < (left: Self, right: Self) -> Bool { left.text < right.text }

  /// The characters of the folded text, so that a predicate can ask for its beginning.
  public func makeIterator() -> String.Iterator { text.makeIterator() }
}

/// The differences of texts that an index leaves out.
public enum TextFolding: Sendable {
  /// Upper and lower case, and marks above, below and across letters.
  case caseAndDiacritics
}

extension String {
  /// The text without differences of case and of accents: `$0.name.folded == "zurich"` in a predicate is served by
  /// `Index(\.name, folding: .caseAndDiacritics)`.
  public var folded: FoldedText { FoldedText(self) }
}

extension OneToManyIndexRepresentation where Value == FoldedText {
  /// An index of a text without differences of case and of accents.
  public init(_ keypath: KeyPath<Instance, String>, folding: TextFolding) {
    self.init(keypath.appending(path: \.folded))
  }
}

extension OneToManyIndexRepresentation where Value == FoldedText? {
  /// An index of a text that may be nil, without differences of case and of accents.
  public init(_ keypath: KeyPath<Instance, String?>, folding: TextFolding) {
    self.init(keypath.appending(path: \.?.folded))
  }
}
