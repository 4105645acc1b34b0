import Expressions
import Documents
import DatastoreModel

/// A filter as it was typed, ready to test records: `EXPR`, or `!EXPR` for the others.
struct RowTest: Sendable {
  let filter: Filter
  let isInverted: Bool

  init(_ text: String) throws(ModelError) {
    let text = text.trimmed
    isInverted = text.hasPrefix("!") && !text.hasPrefix("!=")
    let expression = isInverted ? String(text.dropFirst()).trimmed : text
    do {
      filter = try Filter(parsing: expression)
    } catch {
      throw .invalid(text: text, column: error.column + (isInverted ? 1 : 0), reason: error.message)
    }
  }

  func matches(_ document: Document) -> Bool { filter.matches(document) != isInverted }

  func matches(_ identifier: StoredKey, in datastore: any ReadableDatastore) throws(ModelError) -> Bool {
    guard let record = try datastore.record(identifier), let document = try? record.document() else { return false }
    return matches(document)
  }
}
