package import DatastoreModel

/// Which rows a table shows, and in which order.
package struct RowSource: Hashable, Sendable {
  package var datastore: String
  /// The index that orders the rows; nil is by identifier.
  package var index: String?
  package var range: KeyRange?
  package var isDescending = false
  /// A filter expression, as typed; `!` before it inverts.
  package var filter: String?
  package var sort: SortOrder?

  package init(datastore: String, index: String? = nil) {
    self.datastore = datastore
    self.index = index
  }

  /// Whether the rows are a list that had to be made, not a run of the index.
  var needsScan: Bool { filter != nil || sort != nil }
}

/// An order that no index has.
package struct SortOrder: Hashable, Sendable {
  package var path: String
  package var isDescending: Bool
}

/// A range of an index by both bounds.
package struct KeyRange: Hashable, Sendable {
  package var lower: KeyBound
  package var upper: KeyBound

  package init(lower: KeyBound, upper: KeyBound) {
    self.lower = lower
    self.upper = upper
  }
}

extension KeyRange: CustomStringConvertible {
  /// As it is typed: `"Ca" ..< "Le"`, `1000000...`, `..<5`.
  package var description: String {
    let lower = Self.value(lower).map(\.description) ?? ""
    switch upper {
    case .end: return Self.value(self.lower) == nil ? "all" : "\(lower)..."
    case .before(let value): return lower.isEmpty ? "..<\(value)" : "\(lower) ..< \(value)"
    case .after(let value):
      if case .before(let first) = self.lower, first == value { return "= \(value)" }
      return lower.isEmpty ? "...\(value)" : "\(lower) ... \(value)"
    case .start: return "\(lower) ..< (start)"
    }
  }

  private static func value(_ bound: KeyBound) -> KeyValue? {
    switch bound {
    case .before(let value), .after(let value): value
    case .start, .end: nil
    }
  }
}

/// The text of a range, parted into its bounds before the index's type reads them.
struct RangeText: Hashable, Sendable {
  enum Upper: Hashable, Sendable { case none, below(String), through(String) }
  var lower: String?
  var upper: Upper

  /// Reads `A ..< B`, `A ... B`, `A...`, `..<B`, `...B`, and a single value, which means just it. Nil for empty text.
  init?(_ text: String) {
    let text = text.trimmed
    guard !text.isEmpty else { return nil }
    if let (left, right) = text.splitOutsideQuotes(at: "..<") {
      guard !right.isEmpty else { return nil }
      lower = left.isEmpty ? nil : left
      upper = .below(right)
    } else if let (left, right) = text.splitOutsideQuotes(at: "...") {
      lower = left.isEmpty ? nil : left
      upper = right.isEmpty ? .none : .through(right)
    } else {
      lower = text
      upper = .through(text)
    }
  }
}

extension String {
  var trimmed: String {
    var text = Substring(self)
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }

  /// The parts before and after the first occurrence of a separator that stands in no string literal.
  func splitOutsideQuotes(at separator: String) -> (String, String)? {
    var isQuoted = false
    var isEscaped = false
    var at = startIndex
    while at < endIndex {
      let character = self[at]
      if isEscaped {
        isEscaped = false
      } else if character == "\\", isQuoted {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if !isQuoted, self[at...].hasPrefix(separator) {
        let after = index(at, offsetBy: separator.count)
        return (String(self[..<at]).trimmed, String(self[after...]).trimmed)
      }
      at = index(after: at)
    }
    return nil
  }
}

/// One row of a table, with what its columns show.
package struct Row: Sendable {
  /// The entry's rank in the index that orders the table.
  package var rank: Int
  package var entry: IndexEntry
  var version: String
  var cells: [String: ValueText]
  /// Why the record could not be read, if so.
  var problem: String?
}
