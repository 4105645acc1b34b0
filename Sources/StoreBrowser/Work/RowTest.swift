import StrataDocuments
import StrataExpressions
import StrataModel

/// A filter as it was typed, ready to test records: `EXPR`, or `!EXPR` for the others.
struct RowTest: Sendable {
  let filter: Filter

  init(_ text: String) throws(ModelError) {
    let text = text.trimmed
    let isInverted = text.hasPrefix("!") && !text.hasPrefix("!=")
    let expression = isInverted ? String(text.dropFirst()).trimmed : text
    do {
      let typed = try Filter(parsing: expression)
      filter = isInverted ? try Filter(parsing: "not (\(expression))") : typed
    } catch {
      throw .invalid(text: text, column: error.column + (isInverted ? 1 : 0), reason: error.message)
    }
  }
}
