@testable import StrataDocuments

extension Document {
  /// A small document of everything that JSON has.
  static func random(using random: inout SeededGenerator, depth: Int = 0) -> Document {
    switch Int.random(in: depth > 3 ? 2...6 : 0...6, using: &random) {
    case 0:
      var members: [Member] = []
      for name in ["a", "b", "c d", "é", "1"].shuffled(using: &random).prefix(Int.random(in: 0...5, using: &random)) {
        members.append(Member(name, .random(using: &random, depth: depth + 1)))
      }
      return .object(members)
    case 1:
      return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in .random(using: &random, depth: depth + 1) })
    case 2: return .null
    case 3: return .bool(Bool.random(using: &random))
    case 4: return .number(NumberText(Int64.random(in: -1000...1000, using: &random)))
    case 5: return .number(NumberText(Double.random(in: -10...10, using: &random)))
    // With what a reader of JSON may take for the end of a text or a container.
    default: return .string(random.text() + (["", "\"", "\\", "[", "}"].randomElement(using: &random) ?? ""))
    }
  }

  /// The document with some of its leaves changed.
  func mutated(using random: inout SeededGenerator) -> Document {
    var document = self
    for field in fields where Int.random(in: 0...2, using: &random) == 0 {
      let changed =
        Bool.random(using: &random) && !field.path.isRoot
        ? try? document.removing(field.path) : try? document.setting(field.path, to: .random(using: &random, depth: 3))
      document = changed ?? document
    }
    return document
  }
}

extension RecordCoding {
  func isCompactJSON(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { isCompactJSON($0) } }
}
