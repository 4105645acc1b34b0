/// The reason that a path, a filter, an assignment, a range, a time or a pattern cannot be read.
package struct ExpressionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence without a stop at its end.
  package var message: String
  /// The place, in characters (Unicode scalars) from 1.
  package var column: Int

  package init(_ message: String, column: Int) {
    self.message = message
    self.column = column
  }

  package var description: String { "column \(column): \(message)" }
}
