import StrataDocuments
@testable import StrataModel

/// Documents in memory, as the source of an import.
struct DocumentList: ImportSource {
  private let rows: [ImportRow]
  private var position = 0

  init(_ rows: [ImportRow]) { self.rows = rows }

  init(_ documents: [Document], name: String = "input") {
    rows = documents.enumerated().map {
      ImportRow(content: .document($1), place: SourcePlace(file: name, line: $0 + 1))
    }
  }

  mutating func rewind() { position = 0 }

  mutating func next(_ wanted: WantedParts) -> ImportRow? {
    guard position < rows.count else { return nil }
    defer { position += 1 }
    return rows[position]
  }
}
