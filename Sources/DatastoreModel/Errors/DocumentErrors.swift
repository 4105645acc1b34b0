package import Documents

extension ModelError {
  /// What an error of a document means to a user of the model.
  package init(_ error: DocumentError) {
    switch error {
    case .invalid(let text, let column, let reason): self = .invalid(text: text, column: column, reason: reason)
    case .unreadable(let what, let place): self = .unreadable(what: what, where: place)
    case .refused(let reason): self = .refused(reason: reason)
    }
  }
}

/// Runs what reads or changes a document, with its errors told as the model's.
package func onDocument<Value>(_ body: @autoclosure () throws(DocumentError) -> Value) throws(ModelError) -> Value {
  do {
    return try body()
  } catch {
    throw ModelError(error)
  }
}
