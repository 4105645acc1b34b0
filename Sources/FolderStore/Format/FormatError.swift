/// What is wrong with the bytes of a file, and where; the file's name is added by whoever read it.
package struct FormatError: Error, Hashable, Sendable {
  /// A sentence without a stop: `the block's length is not a number`.
  package var problem: String
  /// Byte offset from the file's start; nil where the whole file is meant.
  package var offset: Int?

  package init(_ problem: String, at offset: Int? = nil) {
    self.problem = problem
    self.offset = offset
  }
}

extension FormatError: CustomStringConvertible {
  package var description: String { offset.map { "\(problem) (byte \($0))" } ?? problem }
}
