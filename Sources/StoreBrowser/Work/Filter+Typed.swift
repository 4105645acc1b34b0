import StrataDocuments
import StrataExpressions
import StrataModel

extension Filter {
  /// Reads a filter as it was typed: `EXPR`, or `!EXPR` for the other records.
  init(typed text: String) throws(ModelError) {
    let text = text.trimmed
    let isInverted = text.hasPrefix("!") && !text.hasPrefix("!=")
    let expression = isInverted ? String(text.dropFirst()).trimmed : text
    do {
      let typed = try Filter(parsing: expression)
      self = isInverted ? try Filter(parsing: "not (\(expression))") : typed
    } catch {
      throw .invalid(text: text, column: error.column + (isInverted ? 1 : 0), reason: error.message)
    }
  }
}

extension RowSource {
  /// The filter, if it has one.
  var condition: Filter? {
    get throws(ModelError) { try filter.map { text throws(ModelError) in try Filter(typed: text) } }
  }
}
