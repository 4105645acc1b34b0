package import StrataModel

/// A file of the folder that cannot be read, and why.
package struct FolderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path within the folder.
  package var file: String
  package var problem: Problem

  package enum Problem: Hashable, Sendable {
    case missing
    /// A system call that failed, as text.
    case unreachable(String)
    case malformed(FormatError)
  }

  /// The problem, without the file.
  package var reason: String {
    switch problem {
    case .missing: "the file is missing"
    case .unreachable(let text): text
    case .malformed(let error): error.description
    }
  }

  package var description: String { "\(file): \(reason)" }
}

extension FolderError {
  init(file: String, _ error: FormatError) { self.init(file: file, problem: .malformed(error)) }
}

extension ModelError {
  /// The error that a reader of the store gets.
  package init(_ error: FolderError) { self = .unreadable(what: error.file, where: error.reason) }
}

/// Reads from the folder for a reader of the store.
func reading<Value>(_ body: () throws(FolderError) -> Value) throws(ModelError) -> Value {
  do throws(FolderError) { return try body() } catch { throw ModelError(error) }
}
