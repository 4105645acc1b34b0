extension Document {
  /// The type as the tree of a record shows it: `String`, `Int`, `Decimal`, `Bool`, `Date`, `Data 12408 B`, `list (3)`,
  /// `{5}`, `null`.
  package var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "Bool"
    case .number(let value): value.isInteger ? "Int" : "Decimal"
    case .string: "String"
    case .date: "Date"
    case .data(let bytes): "Data \(bytes.count) B"
    case .array(let elements): "list (\(elements.count))"
    case .object(let members): "{\(members.count)}"
    }
  }

  /// One line for the cell of a table, without quotes around a text: `Invisible Cities`, `8.50`, `—` for null, `["Calvino"]`,
  /// `{w: 12.7, h: 19.8}`. Stops soon after `limit` characters, so its cost does not grow with the value; a cut text ends in
  /// `…`. Control characters stay in the text for the terminal to show.
  package func compactText(limit: Int) -> String {
    let limit = max(0, limit)
    switch self {
    case .null: return "—"
    case .string(let text): return Self.cut(text, limit)
    default:
      var text = ""
      appendCompact(to: &text, limit: limit)
      return Self.cut(text, limit)
    }
  }

  private func appendCompact(to text: inout String, limit: Int) {
    guard text.utf8.count <= 4 * limit else { return }
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let value): text += value.text
    case .string(let value): text += JSONWriter.literal(Self.cut(value, limit))
    case .date(let value): text += DateText.text(of: value)
    case .data(let bytes):
      text += "<\(bytes.count) B"
      for byte in bytes.prefix(16) {
        text += " "
        Hexadecimal.append(byte, to: &text)
      }
      text += bytes.count > 16 ? " …>" : ">"
    case .array(let elements):
      text += "["
      for (index, element) in elements.prefix(limit).enumerated() where text.utf8.count <= 4 * limit {
        if index > 0 { text += ", " }
        element.appendCompact(to: &text, limit: limit)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.prefix(limit).enumerated() where text.utf8.count <= 4 * limit {
        if index > 0 { text += ", " }
        text += DocumentPath.isPlain(member.name) ? member.name : JSONWriter.literal(member.name)
        text += ": "
        member.value.appendCompact(to: &text, limit: limit)
      }
      text += "}"
    }
  }

  private static func cut(_ text: String, _ limit: Int) -> String {
    // A text of no more bytes has no more characters.
    guard text.utf8.count > limit, let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex),
      end < text.endIndex
    else { return text }
    return String(text[..<end]) + "…"
  }
}
