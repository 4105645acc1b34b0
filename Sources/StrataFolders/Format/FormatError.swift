import StrataDocuments

/// An error in the bytes of a file, and its place; the caller that read the file adds the file's name.
package struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence without a stop: `the block's length is not a number`.
  package var problem: String
  /// Byte offset from the file's start; nil if the error concerns the whole file.
  package var offset: Int?

  package init(_ problem: String, at offset: Int? = nil) {
    self.problem = problem
    self.offset = offset
  }

  package var description: String { offset.map { "\(problem) (byte \($0))" } ?? problem }
}

extension Document {
  /// - Parameter what: The name of the bytes in the error.
  init(parsing json: some Collection<UInt8>, _ what: String) throws(FormatError) {
    do throws(JSONError) {
      self = try JSONParser.parse(Array(json))
    } catch {
      throw FormatError("\(what) is not JSON: \(error)")
    }
  }
}

/// A file of the folder that is read whole.
protocol ParsedFile {
  init(parsing bytes: [UInt8]) throws(FormatError)
}
