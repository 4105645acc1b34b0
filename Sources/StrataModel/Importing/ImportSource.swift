package import StrataDocuments

/// A source of documents for an import: a file of JSON Lines, a JSON array, an object keyed by identifier, a table.
///
/// A source can be read from its start several times: once to learn the types, once to write.
package protocol ImportSource {
  /// Returns to the start.
  mutating func rewind() throws(ModelError)
  /// Returns the next document, or the reason why it cannot be read, or nil at the end.
  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow?
  /// The columns if the source is a table of cells, whose types are guessed; nil if its values have types of their own.
  var guessedColumns: [TableSource.Column]? { get }
  /// Reads the cells of a column according to a rule. A row with a cell that does not fit is unreadable.
  mutating func follow(_ rule: ColumnRule, at path: DocumentPath)
}

extension ImportSource {
  package var guessedColumns: [TableSource.Column]? { nil }
  package mutating func follow(_ rule: ColumnRule, at path: DocumentPath) {}

  /// Returns the next document as a whole.
  package mutating func next() throws(ModelError) -> ImportRow? { try next(.all) }
}

/// The parts of each document that the reader of a source needs. A source may give more.
package enum WantedParts: Sendable {
  case all
  /// The values at some paths.
  case parts(DocumentSelection)
  /// The same, and the document as JSON. The row has the text if the source already has it as it would be written; otherwise it has the
  /// whole document.
  case text(with: DocumentSelection)
}

/// One document of a source, or the reason why it cannot be read.
package struct ImportRow: Sendable {
  package enum Content: Sendable {
    case document(Document)
    /// With the reason, without the place.
    case unreadable(String)
  }

  package var content: Content
  /// The document as `JSONWriter` writes it compactly, if that was wanted and the source has it so. `content` may be a part of it.
  package var text: [UInt8]?
  /// The document's key, if the source is an object keyed by identifier.
  package var key: String?
  package var place: SourcePlace
  /// Its approximate size in bytes.
  package var size = 0
  /// The row's range in the text of its file, with its key, without the separators around it; nil if no row can follow it.
  var span: Range<Int>?
  /// The offset of the document itself, if it follows a key.
  var bodyStart: Int?
}

/// The place of a row, or of an error in it, in its source: `FILE:LINE`, or `FILE:LINE:COLUMN`.
///
/// Every row has a place but few are shown, so the text is made on request.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
  package var file: String
  /// From 1.
  package var line: Int
  /// From 1, in characters; nil at the beginning of a line.
  package var column: Int?

  package var description: String { "\(file):\(line)" + (column.map { ":\($0)" } ?? "") }
}
