import StrataDocuments
import StrataModel

/// The members of one JSON object of the folder's own files, with errors that name the member.
///
/// The original library ignores members that it does not know, and so does this reader.
struct JSONFile {
  /// In stored order; a reader of all of them takes the first of each name.
  let members: [Document.Member]
  /// The name of the object in errors: `descriptor`, or empty for the file itself.
  private let name: String

  /// Every file of the folder has the version of its format, and there is only one.
  init(parsing bytes: [UInt8]) throws(FormatError) {
    try self.init(Document(parsing: bytes, "the file"), named: "")
    let version = try text("version")
    guard version == "alpha" else { throw FormatError("the format version is \(version), and only alpha is known") }
  }

  init(_ document: Document, named name: String) throws(FormatError) {
    guard case .object(let members) = document else {
      throw FormatError(name.isEmpty ? "the file is not a JSON object" : "\(name) is not a JSON object")
    }
    self.members = members
    self.name = name
  }

  /// The value of a member; nil if it is absent or null.
  subscript(_ member: String) -> Document? {
    switch members.last(where: { $0.name == member })?.value {
    case .null?: nil
    case let value: value
    }
  }

  func required(_ member: String) throws(FormatError) -> Document { try there(self[member], member) }

  /// The members of a list that some releases may not have written.
  func list(_ member: String) throws(FormatError) -> [Document] {
    guard let value = self[member] else { return [] }
    guard case .array(let elements) = value else { throw FormatError("\(path(member)) is not a list") }
    return elements
  }

  func object(_ member: String) throws(FormatError) -> JSONFile {
    try JSONFile(try required(member), named: path(member))
  }

  func path(_ member: String) -> String { name.isEmpty ? member : "\(name).\(member)" }

  func text(_ member: String) throws(FormatError) -> String { try there(optionalText(member), member) }

  func optionalText(_ member: String) throws(FormatError) -> String? {
    switch self[member] {
    case nil: nil
    case .string(let text)?: text
    default: throw FormatError("\(path(member)) is not text")
    }
  }

  /// Nanoseconds since 1970. A day without a time is not a date.
  func date(_ member: String) throws(FormatError) -> Int64 {
    try there(value(member, "is not a date") { $0.contains("T") ? MomentText.nanoseconds($0) : nil }, member)
  }

  func optionalIdentifier(_ member: String) throws(FormatError) -> DatedIdentifier? {
    try value(member, "is not an identifier") { DatedIdentifier($0) }
  }

  func name(_ member: String) throws(FormatError) -> FolderName { try there(optionalName(member), member) }

  func optionalName(_ member: String) throws(FormatError) -> FolderName? {
    try value(member, "cannot be a file's name") { FolderName($0) }
  }

  /// The value that a text stands for; nil if the member is absent.
  private func value<Value>(
    _ member: String, _ fault: String, _ make: (String) -> Value?
  ) throws(FormatError) -> Value? {
    guard let text = try optionalText(member) else { return nil }
    guard let value = make(text) else { throw FormatError("\(path(member)) \(fault): \(text.prefix(80))") }
    return value
  }

  private func there<Value>(_ value: Value?, _ member: String) throws(FormatError) -> Value {
    guard let value else { throw FormatError("\(path(member)) is missing") }
    return value
  }

  /// Those of the members that are absent.
  func absent(_ required: [String]) -> [String] {
    required.filter { name in !members.contains { $0.name == name } }.map(path)
  }
}
