/// The reason that bytes are not a document, that a text names no place in one, or that a change cannot be made to one.
package enum DocumentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Text that a person typed; the column counts characters from 1, and is nil if there is no single place.
  case invalid(text: String, column: Int?, reason: String)
  /// Bytes that do not follow their coding, and the place.
  case unreadable(what: String, where: String)
  /// The request does not fit the document; the reason is a sentence.
  case refused(reason: String)

  package var description: String {
    switch self {
    case .invalid(_, let column, let reason): column.map { "column \($0): \(reason)" } ?? reason
    case .unreadable(let what, let place): "\(what) cannot be read: \(place)"
    case .refused(let reason): reason
    }
  }
}
