/// The place of a value in a document: `.price`, `.authors[0]`, `.dims.w`, `."odd name"`; `.` is the document itself.
package struct DocumentPath: Hashable, Sendable, CustomStringConvertible {
  package enum Component: Hashable, Sendable {
    case member(String)
    /// From 0.
    case index(Int)
  }

  package var components: [Component]

  package init(_ components: [Component] = []) { self.components = components }

  /// Reads a path with or without its first point; throws `DocumentError.invalid` with the column.
  package init(parsing text: String) throws(DocumentError) {
    do throws(ExpressionError) {
      var scanner = ExpressionScanner(text)
      components = try scanner.wholePath()
    } catch {
      throw .invalid(text: text, column: error.column, reason: error.message)
    }
  }

  /// Reads a field as a person names it: a path, or a name with spaces without quotes.
  package init(named text: String) throws(DocumentError) {
    do { self = try DocumentPath(parsing: text) } catch {
      guard text.contains(where: \.isWhitespace), !text.contains("\"") else { throw error }
      self = DocumentPath([.member(text)])
    }
  }

  /// The whole document.
  package static let root = DocumentPath()

  package func appending(_ component: Component) -> DocumentPath { DocumentPath(components + [component]) }

  package func appending(_ name: String) -> DocumentPath { appending(.member(name)) }

  package func appending(_ index: Int) -> DocumentPath { appending(.index(index)) }

  /// The path without its last component; nil for the root.
  package var parent: DocumentPath? { components.isEmpty ? nil : DocumentPath(components.dropLast()) }

  /// The path up to the first list in it: a position does not identify an element in another version of the document.
  package var upToList: DocumentPath {
    DocumentPath(Array(components.prefix { if case .member = $0 { true } else { false } }))
  }

  package var isRoot: Bool { components.isEmpty }

  /// Whether `other` is this place or is inside it.
  package func contains(_ other: DocumentPath) -> Bool { other.components.starts(with: components) }

  package var description: String {
    guard !components.isEmpty else { return "." }
    return components.reduce(into: "") { text, component in
      switch component {
      case .member(let name): text += Self.text(ofMember: name)
      case .index(let index): text += components.first == component && text.isEmpty ? ".[\(index)]" : "[\(index)]"
      }
    }
  }

  /// The path without its first point, as filters and column titles show it: `price`, `authors[0]`. If a filter would read that as
  /// something else, the point stays: `."odd name"`.
  package var shortText: String {
    guard case .member(let name)? = components.first, Self.isPlain(name) else { return description }
    return String(description.dropFirst())
  }

  /// The path of a member as text: `.price`, `."odd name"`.
  package static func text(ofMember name: String) -> String { "." + (isPlain(name) ? name : JSONWriter.literal(name)) }

  /// Whether a name needs no quotes: letters, digits, `_` and `$`, not beginning with a digit, and not a word of the filter language,
  /// in lower or upper case.
  package static func isPlain(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, isNameStart(first), name.unicodeScalars.allSatisfy(isNamePart) else {
      return false
    }
    return !reservedWords.contains(name.lowercased())
  }

  package static let reservedWords: Set<String> = [
    "and", "or", "not", "in", "has", "is", "null", "nil", "true", "false",
  ]

  package static func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar == "$" || (scalar.isASCII ? scalar.properties.isAlphabetic : scalar.properties.isXIDStart)
  }

  package static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    isNameStart(scalar) || "0"..."9" ~= scalar || (!scalar.isASCII && scalar.properties.isXIDContinue)
  }
}
