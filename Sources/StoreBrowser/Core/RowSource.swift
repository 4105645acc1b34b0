import StrataDocuments
package import StrataModel
import StrataExpressions

/// The rows of a table, and their order.
package struct RowSource: Hashable, Sendable {
  package var datastore: String
  /// The index that orders the rows; nil orders them by identifier.
  package var index: String?
  package var range: KeyInterval?
  package var isDescending = false
  /// A filter expression, as typed; `!` before it inverts.
  package var filter: String?
  /// An order that no index has, the most significant field first; empty for the order of the index.
  package var sort: [SortOrder] = []
  /// The columns that are computed from the fields of each record, in the order in which they were added.
  var computed: [Assignment] = []
  /// The columns from the records to which fields lead.
  var joined: [Join] = []
  /// The largest number of rows; nil shows all.
  var limit: Int?

  /// The run of the index to which filter and sort are applied.
  var unscanned: RowSource {
    var source = self
    source.filter = nil
    source.sort = []
    source.limit = nil
    return source
  }

  /// The conditions that narrow the rows, for the foot of a pane: `filter population > 5M`, `range 1 ..< 5 of byRank`.
  var narrowing: [String] {
    [
      filter.map { "filter \($0)" }, range.map { "range \($0) of \(index ?? "the identifier")" },
      limit.map { "the first \(NumberFormat.count($0))" },
    ].compactMap(\.self)
  }

  /// Whether the rows are a list that must be computed, not a run of the index.
  var needsScan: Bool { filter != nil || !sort.isEmpty }
}

/// A field of an order that no index has.
package struct SortOrder: Hashable, Sendable {
  package var path: String
  package var isDescending: Bool
}

extension String {
  var trimmed: String { trimmingSpaces }

  /// The words of an argument, which a comma may follow. A name in quotes is one word.
  var words: [String] {
    splitOutsideQuotes(at: " ").map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }.filter { !$0.isEmpty }
  }

  /// Returns the parts before and after the first occurrence of a separator outside string literals.
  func splitOutsideQuotes(at separator: String) -> (String, String)? {
    guard let first = separator.first else { return nil }
    var at = startIndex
    for part in splitOutsideQuotes(at: first) {
      at = index(at, offsetBy: part.count)
      let rest = self[at...]
      if rest.hasPrefix(separator) {
        return (String(self[..<at]).trimmed, String(rest.dropFirst(separator.count)).trimmed)
      }
      if !rest.isEmpty { at = index(after: at) }
    }
    return nil
  }
}

/// One row of a table, with the contents of its columns.
package struct Row: Sendable, Equatable {
  /// The entry's rank in the index that orders the table.
  package var rank: Int
  package var entry: IndexEntry
  var version = ""
  var cells: [String: ValueText] = [:]
  /// The record itself, if it is small: then the record pane can show it in the same picture.
  var record: Record?
  /// Why the record could not be read; nil if it could.
  var problem: String?
  /// The targets of references, for columns that show them, by their paths.
  var targets: [String: ReferenceTarget] = [:]

  /// The record as this browser wrote it after the row was read.
  var written: RecordEdit?

  /// The largest record in bytes that is kept with its row.
  static let keptContent = 4_096
}
