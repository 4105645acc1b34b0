package import StrataDocuments

extension Document {
  /// Returns the label of a record: the chosen field, otherwise its name, title or label, otherwise its first text that is not a code. For
  /// an entity its type precedes the label. One line; nil if there is no label.
  ///
  /// - Parameter field: The path of the field that the user chose for records of its datastore.
  package func label(by field: String? = nil) -> String? {
    if let field, let path = try? DocumentPath(parsing: field), let value = self[path]?.withoutEntityLabels {
      let text = Self.line(value.bareText)
      if !text.isEmpty { return text }
    }
    if isEntity, case .object(let properties)? = self[member: "properties"] {
      let said = Document.object(
        properties.compactMap { property in
          guard let (kind, value) = property.value.entityValue, kind == "string" else { return nil }
          return Member(property.name, value)
        })
      let parts = [self[member: "type"]?.bareText, said.ownLabel].compactMap { $0 }
      return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
    return ownLabel
  }

  private var ownLabel: String? {
    guard case .object(let members) = self else { return nil }
    for name in ["name", "title", "label", "Name", "Title", "Label"] {
      if case .string(let text)? = self[member: name], !text.isEmpty { return Self.line(text) }
    }
    for member in members {
      guard case .string(let text) = member.value, !text.dropFirst(3).isEmpty, !Self.isCode(member.name) else {
        continue
      }
      return Self.line(text)
    }
    return nil
  }

  /// A text as it is, anything else as JSON.
  private var bareText: String { if case .string(let text) = self { text } else { compactJSON } }

  /// Whether a field identifies records, so that it is already shown beside the label.
  private static func isCode(_ name: String) -> Bool {
    ["id", "identifier", "uuid", "type"].contains(name.lowercased())
  }

  private static let longest = 80

  /// Returns the first line of a text that is not empty, cut. The cost is that of the label, however long the text is.
  private static func line(_ text: String) -> String {
    let beginning = text.drop(while: \.isNewline).prefix(longest + 1)
    let line = beginning.prefix { !$0.isNewline }
    return line.count > longest ? line.prefix(longest - 1) + "…" : String(line)
  }
}
