package import StrataDocuments
import StrataExpressions

/// A condition that is evaluated on the JSON text of a record, as far as the text alone tells: the one matcher of `#Predicate`, the
/// browser's filters and the verbs.
///
/// It knows three answers. If it cannot tell, because of an escape, a name that stands twice or a part of the condition that it does not
/// know, the record is decoded and the condition evaluated on the result.
package struct ByteCondition: Sendable {
  private indirect enum Node: Sendable {
    case all([Node])
    case any([Node])
    case not(Node)
    case value(Int, ValueTest)
    case unknown

    /// Whether no text can tell anything.
    var isUnknown: Bool {
      switch self {
      case .all(let parts), .any(let parts): !parts.isEmpty && parts.allSatisfy(\.isUnknown)
      case .not(let inner): inner.isUnknown
      case .value: false
      case .unknown: true
      }
    }
  }

  private let root: Node
  private let readsWhole: Bool
  package private(set) var places: PartPlaces

  /// - Parameters:
  ///   - place: Returns the place of a term's subject in the text; nil if it is not known.
  ///   - readsWhole: Whether a text must be JSON to its end. If not, the reading ends behind the last part.
  /// - Returns: nil if no text can tell anything.
  package init?(
    _ condition: QueryCondition, readsWhole: Bool, place: (QuerySubject) -> DocumentPath?
  ) {
    let selection = DocumentSelection(condition.subjects.compactMap(place))
    let places = PartPlaces(selection)
    root = Self.node(of: condition) { place($0).flatMap { places.number(of: $0) } }
    guard !root.isUnknown else { return nil }
    (self.places, self.readsWhole) = (places, readsWhole)
  }

  private static func node(of condition: QueryCondition, number: (QuerySubject) -> Int?) -> Node {
    switch condition {
    case .all(let parts): return .all(parts.map { node(of: $0, number: number) })
    case .any(let parts): return .any(parts.map { node(of: $0, number: number) })
    case .not(let inner): return .not(node(of: inner, number: number))
    case .test: return .unknown
    case .term(let term, _):
      guard !term.isElement, let part = number(term.subject) else { return .unknown }
      var tests = [term.test]
      if case .isOne(let values) = term.test { tests = values.map { .compare(.equal, $0) } }
      let isTyped = if case .property = term.subject { true } else { false }
      return .any(tests.map { ValueTest($0, isTyped: isTyped).map { .value(part, $0) } ?? .unknown })
    }
  }

  /// Whether a text meets the condition, or nil if it cannot tell.
  ///
  /// - Parameter presumed: The value that a missing member stands for; nil if that is not known.
  package mutating func holds(for text: UnsafeRawBufferPointer, presumed: (Int) -> JSONToken?) -> Bool? {
    guard places.read(text, isWhole: readsWhole) else { return nil }
    return holds(root, text, presumed)
  }

  private func holds(
    _ node: Node, _ text: UnsafeRawBufferPointer, _ presumed: (Int) -> JSONToken?
  ) -> Bool? {
    switch node {
    case .all(let parts), .any(let parts):
      // A part with this result decides for all of them.
      let decisive = if case .any = node { true } else { false }
      var isKnown = true
      for part in parts {
        let holds = holds(part, text, presumed)
        if holds == decisive { return decisive }
        isKnown = isKnown && holds != nil
      }
      return isKnown ? !decisive : nil
    case .not(let inner): return holds(inner, text, presumed).map { !$0 }
    case .value(let part, let test): return test.holds(for: places[part] ?? presumed(part), in: text)
    case .unknown: return nil
    }
  }
}

extension QueryCondition {
  fileprivate var subjects: [QuerySubject] {
    if case .term(let term, _) = self { [term.subject] } else { parts.flatMap(\.subjects) }
  }
}
