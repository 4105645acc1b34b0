import Documents

/// One line of a stream: a JSON object whose members keep their bytes.
package struct StreamLine {
  package let bytes: [UInt8]
  private let members: [(name: String, value: Range<Int>)]

  /// Nil where the bytes are no JSON object.
  package init?(_ bytes: [UInt8]) {
    guard let members = bytes.withUnsafeBytes({ JSONMembers.ranges(in: $0) }) else { return nil }
    self.bytes = bytes
    self.members = members
  }

  /// The name of the first member, which says what kind of line it is.
  var kind: String { members.first?.name ?? "" }

  package func has(_ name: String) -> Bool { members.contains { $0.name == name } }

  /// The bytes of a member's value, as they stand.
  func raw(_ name: String) -> ArraySlice<UInt8>? {
    members.first { $0.name == name }.map { bytes[$0.value] }
  }

  /// Nil also for a list or an object that is longer than any that a line needs: parsed, it takes many times its length.
  func document(_ name: String) -> Document? {
    guard let raw = raw(name), raw.first == UInt8(ascii: "\"") || raw.count <= Self.mostOfList else { return nil }
    return try? JSONParser.parse(Array(raw))
  }

  private static let mostOfList = 1 << 20

  func text(_ name: String) -> String? {
    guard case .string(let text)? = document(name) else { return nil }
    return text
  }

  func texts(_ name: String) -> [String]? {
    guard case .array(let elements)? = document(name) else { return nil }
    var texts: [String] = []
    for element in elements {
      guard case .string(let text) = element else { return nil }
      texts.append(text)
    }
    return texts
  }

  func number(_ name: String) -> UInt64? {
    guard case .number(let number)? = document(name) else { return nil }
    return UInt64(number.text)
  }

  func base64(_ name: String) -> [UInt8]? { text(name).flatMap { Base64.bytes(of: $0) } }

  /// A line's bytes, its end included. `raw`: a last member whose value is copied as it stands.
  static func bytes(_ members: [Document.Member], raw: (name: String, value: [UInt8])? = nil) -> [UInt8] {
    var line = Document.object(members).json(.compact)
    if let raw {
      line.removeLast()
      line += Array(",\(JSONWriter.literal(raw.name)):".utf8)
      line += raw.value
      line.append(UInt8(ascii: "}"))
    }
    line.append(UInt8(ascii: "\n"))
    return line
  }
}
