import StrataModel
import StrataDocuments
import StrataExpressions

/// The text of a search, as it is typed: `zürich` in either case, `Bern` with regard to case because of its capital letter, `"Bern"` for a
/// whole value, `/^San/` for a pattern.
struct SearchText: Hashable, Sendable {
  let typed: String
  /// The searched characters, in lower case if case does not count; the source of a pattern.
  let needle: String
  private let ignoresCase: Bool
  private let isWhole: Bool
  private let pattern: Pattern?

  static let forms = "TEXT · \"whole value\" · /pattern/ · a capital letter makes case count"

  init(_ typed: String) throws(ModelError) {
    self.typed = typed
    let flag = typed.hasSuffix("/i") ? "i" : ""
    let body = String(typed.dropFirst().dropLast(1 + flag.count))
    if typed.hasPrefix("/"), typed.hasSuffix("/\(flag)"), !body.isEmpty {
      (needle, ignoresCase, isWhole) = (body, !flag.isEmpty, false)
      do throws(ExpressionError) { pattern = try Pattern(body, ignoresCase: ignoresCase) } catch {
        throw .invalid(text: typed, column: error.column + 1, reason: error.message)
      }
      return
    }
    pattern = nil
    let isQuoted = typed.hasPrefix("\"") && typed.count > 1
    // While the second quote is not typed yet, the text may be a part of the value.
    isWhole = isQuoted && typed.hasSuffix("\"")
    ignoresCase = !isQuoted && !typed.contains(where: \.isUppercase)
    let text = isQuoted ? String(typed.dropFirst().dropLast(isWhole ? 1 : 0)) : typed
    needle = ignoresCase ? text.lowercased() : text
  }

  func occurs(in value: String) -> Bool {
    if let pattern { return pattern.occurs(in: value) }
    if isWhole { return value == needle }
    return ignoresCase ? value.lowercased().contains(needle) : value.contains(needle)
  }

  /// The beginning of the keys to which an index leads at once; nil for a pattern.
  var prefix: String? { pattern == nil ? needle : nil }

  /// The search in the bytes of a record, which rules records out; nil for a pattern.
  var leaf: LeafSearch? { pattern == nil ? LeafSearch(needle, ignoresCase: ignoresCase) : nil }

  /// Whether the search in the bytes also tells that a record has the text.
  var isPart: Bool { pattern == nil && !isWhole }

  /// The places in a line of a picture to mark.
  func places(in line: [Character]) -> [Range<Int>] {
    if let pattern { return Self.characters(pattern.places(in: String(line)), in: line) }
    let wanted = Array(needle)
    guard !wanted.isEmpty else { return [] }
    var places: [Range<Int>] = []
    var start = 0
    while start + wanted.count <= line.count {
      let place = start..<start + wanted.count
      let isSame = zip(line[place], wanted).allSatisfy { $0 == $1 || ignoresCase && $0.lowercased() == String($1) }
      guard isSame, !isWhole || Self.isBounded(place, in: line) else {
        start += 1
        continue
      }
      places.append(place)
      start = place.upperBound
    }
    return places
  }

  /// Whether no word continues at either end of a place.
  private static func isBounded(_ place: Range<Int>, in line: [Character]) -> Bool {
    [place.lowerBound - 1, place.upperBound].allSatisfy {
      !line.indices.contains($0) || !(line[$0].isLetter || line[$0].isNumber)
    }
  }

  /// The characters at ranges of Unicode scalars of the composed form.
  private static func characters(_ scalars: [Range<Int>], in line: [Character]) -> [Range<Int>] {
    let owner = line.indices.flatMap { place in
      NormalForm.composed(String(line[place])).unicodeScalars.map { _ in place }
    }
    return scalars.filter { $0.upperBound <= owner.count }.map { owner[$0.lowerBound]..<owner[$0.upperBound - 1] + 1 }
  }
}

/// A search in the records of a table: in all of their fields, or in one column.
struct RecordSearch: Sendable {
  let text: SearchText
  let column: TableColumn.Source?
  private let leaf: LeafSearch?
  private let selection: DocumentSelection
  private let path: DocumentPath?
  /// Whether joined or computed fields are searched, which the bytes of a record do not have.
  let looksAtDerived: Bool

  init(_ text: SearchText, in column: TableColumn.Source?, of source: RowSource) throws(ModelError) {
    (self.text, self.column, leaf) = (text, column, text.leaf)
    if case .field(let name)? = column { path = try WorkContext.path(name) } else { path = nil }
    selection = path.map { DocumentSelection([$0]) } ?? .all
    looksAtDerived = column == nil ? source.derivesColumns : path.map { source.derives([$0]) } ?? false
  }

  /// The first place of a document that has the text.
  func place(in document: Document) -> DocumentPath? {
    document.fields.first { path?.contains($0.path) != false && text.occurs(in: $0.value.searchText) }?.path
  }

  /// Whether a key is searched, and has the text.
  func occurs(in key: KeyValue, of source: TableColumn.Source) -> Bool {
    column.map { $0 == source } != false && text.occurs(in: ValueText(key: key).text)
  }

  /// Whether a field of a record has the text.
  func occurs(in bytes: UnsafeRawBufferPointer, _ coding: RecordCoding, _ tape: inout JSONTape) -> Bool {
    if column != nil, path == nil { return false }
    if coding == .json, let occurs = leaf?.occurs(in: bytes, &tape), !occurs || text.isPart && path == nil {
      return occurs
    }
    guard let document = try? coding.document(of: bytes, at: selection) else { return false }
    return place(in: document) != nil
  }
}
