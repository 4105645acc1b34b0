package import Documents

/// Where documents to be imported come from: a file of JSON Lines, a JSON array, an object keyed by identifier, a table.
///
/// A source is read from its start as often as it is asked: once to learn the types, once to write.
package protocol ImportSource {
  /// Begins anew.
  mutating func rewind() throws(ModelError)
  /// The next document, or the reason why what stands there is none; nil at the end.
  mutating func next() throws(ModelError) -> ImportRow?
}

/// One document of a source, or what stands in its place.
package struct ImportRow: Sendable {
  package enum Content: Sendable {
    case document(Document)
    /// With the reason, without the place.
    case unreadable(String)
  }

  package var content: Content
  /// The key that it stands under, where the source is an object keyed by identifier.
  package var key: String?
  /// `FILE:LINE` or `FILE:LINE:COLUMN`.
  package var place: String

  package init(_ content: Content, key: String? = nil, place: String) {
    self.content = content
    self.key = key
    self.place = place
  }
}

/// Documents that are in memory already.
package struct DocumentList: ImportSource {
  private let rows: [ImportRow]
  private var position = 0

  package init(_ rows: [ImportRow]) { self.rows = rows }

  package init(_ documents: [Document], name: String = "input") {
    rows = documents.enumerated().map { ImportRow(.document($1), place: "\(name):\($0 + 1)") }
  }

  package mutating func rewind() { position = 0 }

  package mutating func next() -> ImportRow? {
    guard position < rows.count else { return nil }
    defer { position += 1 }
    return rows[position]
  }
}
