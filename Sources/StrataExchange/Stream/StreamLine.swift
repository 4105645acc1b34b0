import StrataDocuments
import StrataEngine
import StrataFoundation

/// One line of a stream: a JSON object whose members keep their bytes.
package struct StreamLine {
  package let bytes: [UInt8]
  private let members: [(name: String, value: Range<Int>)]

  /// Returns nil if the bytes are not a JSON object.
  package init?(_ bytes: [UInt8]) {
    guard let members = bytes.withUnsafeBytes({ JSONMembers.ranges(in: $0) }) else { return nil }
    self.bytes = bytes
    self.members = members
  }

  /// Why bytes that are not a JSON object are refused. Most often a start-up file of a shell has printed them.
  static func refusal(of bytes: [UInt8]) -> String {
    "this is not a line of the stream: “\(String(decoding: bytes.prefix(80), as: UTF8.self))”; "
      + "the start-up files of the shell there must print nothing"
  }

  /// The check of the lines before it and of this one, with its end.
  func check(_ before: UInt32) -> UInt32 { crc32c(crc32c(before, bytes), [UInt8(ascii: "\n")]) }

  /// The name of the first member, which says what kind of line it is.
  var kind: String { members.first?.name ?? "" }

  package func has(_ name: String) -> Bool { members.contains { $0.name == name } }

  /// The bytes of a member's value, unchanged.
  func raw(_ name: String) -> ArraySlice<UInt8>? {
    members.first { $0.name == name }.map { bytes[$0.value] }
  }

  /// Returns nil also for a list or an object that is longer than any that a line needs: parsed, it takes many times its length.
  func document(_ name: String) -> Document? {
    guard let raw = raw(name), raw.first == UInt8(ascii: "\"") || raw.count <= Self.mostOfList else { return nil }
    return try? JSONParser.parse(Array(raw))
  }

  private static let mostOfList = 1 << 20

  func text(_ name: String) -> String? {
    if case .string(let text)? = document(name) { text } else { nil }
  }

  func texts(_ name: String) -> [String]? {
    guard case .array(let elements)? = document(name) else { return nil }
    let texts = elements.compactMap { if case .string(let text) = $0 { text } else { String?.none } }
    return texts.count == elements.count ? texts : nil
  }

  func number(_ name: String) -> UInt64? {
    if case .number(let number)? = document(name) { UInt64(number.text) } else { nil }
  }

  func base64(_ name: String) -> [UInt8]? { text(name).flatMap { Base64.bytes(of: $0) } }

  /// A value that is coded as JSON. Returns nil also if it has another shape.
  func value<Value: Decodable>(_ name: String, as type: Value.Type) -> Value? {
    guard let raw = raw(name), raw.count <= Self.mostOfList else { return nil }
    return try? JSONDecoder().decode(type, from: Data(raw))
  }

  /// A line's bytes with its end. `raw` is a last member whose value is copied unchanged.
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

extension Document.Member {
  /// A member whose value is coded as JSON.
  init(_ name: String, coding value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let bytes = try? encoder.encode(value)
    self.init(name, bytes.flatMap { try? JSONParser.parse([UInt8]($0)) } ?? .null)
  }
}
