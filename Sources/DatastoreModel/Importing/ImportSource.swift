package import Documents

/// Where documents to be imported come from: a file of JSON Lines, a JSON array, an object keyed by identifier, a table.
///
/// A source is read from its start as often as it is asked: once to learn the types, once to write.
package protocol ImportSource {
  /// Begins anew.
  mutating func rewind() throws(ModelError)
  /// The next document, or the reason why what stands there is none; nil at the end.
  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow?
  /// The columns, where the source is a table of cells, whose types are guessed; nil where its values say what they are.
  var guessedColumns: [TableSource.Column]? { get }
  /// Has the cells of a column read as a rule says; what they cannot be is no row.
  mutating func follow(_ rule: ColumnRule, at path: DocumentPath)
}

extension ImportSource {
  package var guessedColumns: [TableSource.Column]? { nil }
  package mutating func follow(_ rule: ColumnRule, at path: DocumentPath) {}

  /// The next document as a whole.
  package mutating func next() throws(ModelError) -> ImportRow? { try next(.all) }
}

/// What a reader of a source needs of each document. A source may give more.
package enum WantedParts: Sendable {
  case all
  /// What lies at some paths.
  case parts(DocumentSelection)
  /// The same, and the document as JSON: the row has the text where the source has it as it would be written, otherwise all of the
  /// document.
  case text(with: DocumentSelection)
}

/// One document of a source, or what stands in its place.
package struct ImportRow: Sendable {
  package enum Content: Sendable {
    case document(Document)
    /// With the reason, without the place.
    case unreadable(String)
  }

  package var content: Content
  /// The document as `JSONWriter` writes it compactly, where that was wanted and the source has it so. `content` may be a part of it.
  package var text: [UInt8]?
  /// The key that it stands under, where the source is an object keyed by identifier.
  package var key: String?
  package var place: SourcePlace
  /// About how many bytes it has.
  package var size: Int
  /// Where it lies in the text of its file, with the key that it stands under, without what parts it from its neighbours; nil
  /// of what another row cannot follow.
  var span: Range<Int>?
  /// Where the document itself begins, where that is behind a key.
  var bodyStart: Int?

  package init(
    _ content: Content, text: [UInt8]? = nil, key: String? = nil, place: SourcePlace, size: Int = 0
  ) {
    self.init(content, text: text, key: key, place: place, size: size, span: nil)
  }

  init(
    _ content: Content, text: [UInt8]? = nil, key: String? = nil, place: SourcePlace, size: Int = 0, span: Range<Int>?
  ) {
    self.content = content
    self.text = text
    self.key = key
    self.place = place
    self.size = size
    self.span = span
  }
}

/// Where a row, or an error in it, stands in its source: `FILE:LINE`, or `FILE:LINE:COLUMN`.
///
/// Every row has one and hardly any is shown, so its text is made when it is asked for.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
  package var file: String
  /// From 1.
  package var line: Int
  /// From 1, in characters; nil of what begins its line.
  package var column: Int?

  package init(_ file: String, line: Int, column: Int? = nil) {
    self.file = file
    self.line = line
    self.column = column
  }

  package var description: String { "\(file):\(line)" + (column.map { ":\($0)" } ?? "") }
}

/// Documents that are in memory already.
package struct DocumentList: ImportSource {
  private let rows: [ImportRow]
  private var position = 0

  package init(_ rows: [ImportRow]) { self.rows = rows }

  package init(_ documents: [Document], name: String = "input") {
    rows = documents.enumerated().map { ImportRow(.document($1), place: SourcePlace(name, line: $0 + 1)) }
  }

  package mutating func rewind() { position = 0 }

  package mutating func next(_ wanted: WantedParts) -> ImportRow? {
    guard position < rows.count else { return nil }
    defer { position += 1 }
    return rows[position]
  }
}
