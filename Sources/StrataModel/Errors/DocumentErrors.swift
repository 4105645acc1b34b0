package import StrataDocuments

extension ModelError {
  /// Converts an error of a document for users of the model.
  package init(_ error: DocumentError) {
    switch error {
    case .invalid(let text, let column, let reason): self = .invalid(text: text, column: column, reason: reason)
    case .unreadable(let what, let place): self = .unreadable(what: what, where: place)
    case .refused(let reason): self = .refused(reason: reason)
    }
  }
}

/// Runs code that reads or changes a document, and throws its errors as those of the model.
package func onDocument<Value>(_ body: @autoclosure () throws(DocumentError) -> Value) throws(ModelError) -> Value {
  do {
    return try body()
  } catch {
    throw ModelError(error)
  }
}
