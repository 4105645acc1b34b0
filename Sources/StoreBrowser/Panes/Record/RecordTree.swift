import StrataDocuments
import StrataModel
import StrataTerminal

struct TreeLine: Sendable, Hashable {
  var path: DocumentPath
  /// The name or position of the branch or leaf; empty for the root.
  var name: String
  var depth: Int
  var value: ValueText
  /// The type in a word: `String`, `list`, `Int`.
  var type: String
  var isBranch: Bool
  var isFolded: Bool
  /// The path of the shown value: the line's path, or the path within it of a folded entity property's value.
  var valuePath: DocumentPath
  /// Whether the value is joined or computed, and not stored in the record.
  var isDerived = false
}

/// A document as lines, folded as the user folded it.
struct RecordTree: Sendable, Equatable {
  private(set) var lines: [TreeLine] = []
  /// The width of names with their indents, in columns.
  private(set) var nameColumns = 8

  /// Whether each line is a field of the document, because no branch is unfolded.
  var isFlat: Bool { !lines.contains { $0.depth > 0 } }

  /// Lists longer than this begin folded.
  static let unfoldedElements = 8

  init() {}

  /// - Parameter derived: The joined and computed fields, which stand below those of the record.
  init(_ document: Document, derived: [Document.Member] = [], toggled: Set<DocumentPath>) {
    append(document, name: "", at: .root, depth: 0, toggled: toggled)
    let stored = lines.count
    for member in derived {
      append(member.value, name: member.name, at: DocumentPath.root.appending(member.name), depth: 1, toggled: toggled)
    }
    for line in stored..<lines.count { lines[line].isDerived = true }
    nameColumns = lines.prefix(200).map { SafeText.width($0.name) + $0.depth * 2 }.max() ?? 8
  }

  /// Whether a branch is folded unless the user toggled it: the first level and short nested parts are unfolded.
  static func isFoldedAtFirst(_ value: Document, depth: Int) -> Bool {
    guard depth > 0 else { return false }
    if value.entityValue != nil { return true }
    switch value {
    case .array(let elements): return elements.count > unfoldedElements || depth > 2
    case .object(let members):
      return (members.count > 16 || depth > 2) && members.first?.value.entityValue == nil
    default: return false
    }
  }

  private mutating func append(
    _ value: Document, name: String, at path: DocumentPath, depth: Int, toggled: Set<DocumentPath>
  ) {
    let isBranch = !value.isLeaf
    let isFolded = isBranch && Self.isFoldedAtFirst(value, depth: depth) != toggled.contains(path)
    if !(path.isRoot && isBranch) {
      let property = isFolded ? value.entityValue : nil
      let shown = property == nil ? value : value.withoutEntityLabels
      lines.append(
        TreeLine(
          path: path, name: name, depth: max(0, depth - 1), value: ValueText(literal: shown),
          type: property == nil ? value.shortType : value[member: "type"]?.searchText ?? "", isBranch: isBranch,
          isFolded: isFolded, valuePath: property.map { path.appending($0.kind) } ?? path))
    }
    guard isBranch, !isFolded else { return }
    switch value {
    case .object(let members):
      for member in members {
        append(member.value, name: member.name, at: path.appending(member.name), depth: depth + 1, toggled: toggled)
      }
    case .array(let elements):
      for (position, element) in elements.enumerated() {
        append(element, name: "\(position)", at: path.appending(position), depth: depth + 1, toggled: toggled)
      }
    default: break
    }
  }
}

extension Document {
  /// The type in a word, as Swift calls it.
  var shortType: String {
    switch self {
    case .null: "null"
    case .bool: "Bool"
    case .number(let number): number.isInteger ? "Int" : "Double"
    case .string(let text): text.utf8.count > 200 ? "String \(NumberFormat.bytes(text.utf8.count))" : "String"
    case .date: "Date"
    case .data(let bytes): "Data \(NumberFormat.bytes(bytes.count))"
    case .array: "list"
    case .object: "object"
    }
  }
}
