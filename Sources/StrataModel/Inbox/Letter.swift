package import StrataDocuments
package import StrataEngine

/// Changes of records that another program leaves for the owner of a store, in one file. The owner applies them as one commit.
///
/// The file is text, so that people and other tools can read it:
///
///     {"strata-letter":1,"store":"6f1c…","date":"2026-11-25T10:15:30.000000000Z","program":"Share","author":"anna","action":"Share"}
///     {"put":"City","id":2643743,"version":"2026-09-01","value":{"name":"London"}}
///     {"patch":"City","id":2643743,"value":{"population":9}}
///     {"delete":"City","id":1}
///     {"end":3,"check":"1a2b3c4d"}
///
/// The last line counts the changes. Its check is the CRC-32C of all bytes before that line. Sender and number of a letter are in the
/// name of its file (`LetterName`), and nowhere else: a letter that was refused gets new ones when it is sent again.
package struct Letter: Hashable, Sendable {
  /// One change of one record.
  package struct Change: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      /// Inserts the record, or replaces it unless `isNew` is true.
      case put(RecordContent, isNew: Bool)
      /// Replaces members of the stored record's document.
      case patch([UInt8])
      case delete
    }

    package var datastore: String
    /// The identifier, as documents have it.
    package var identifier: JSONBytes
    package var kind: Kind

    package init(datastore: String, identifier: Document, kind: Kind) {
      self.datastore = datastore
      self.identifier = JSONBytes(identifier)
      self.kind = kind
    }
  }

  /// A JSON value as its canonical bytes, which can be compared.
  package struct JSONBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    package init(_ document: Document) { bytes = document.canonicalBytes }
    var document: Document { (try? JSONParser.parse(bytes)) ?? .null }
  }

  /// The identity of the store, in hexadecimal, if the sender knows it.
  package var store: String?
  /// In nanoseconds since 1970.
  package var date: Int64
  package var program: String
  package var author: String
  package var action: String
  /// The commit that the sender has read the records at.
  package var base: CommitIdentity?
  package var changes: [Change]

  package init(
    store: String? = nil, date: Int64, program: String, author: String, action: String, base: CommitIdentity? = nil,
    changes: [Change]
  ) {
    self.store = store
    self.date = date
    self.program = program
    self.author = author
    self.action = action
    self.base = base
    self.changes = changes
  }

  /// The limit of a letter's bytes.
  package static let mostBytes = 16 << 20
  private static let format: Int64 = 1

  /// The letter as the text of its file.
  package var bytes: [UInt8] {
    var members: [Document.Member] = [.init("strata-letter", .number(NumberText(Self.format)))]
    if let store { members.append(.init("store", .string(store))) }
    members += [
      .init("date", .string(MomentText.text(date))), .init("program", .string(program)),
      .init("author", .string(author)),
      .init("action", .string(action)),
    ]
    if let base { members.append(.init("base", .string(base.text))) }
    var bytes = Document.object(members).json(.compact) + Self.newline
    for change in changes { bytes += change.bytes + Self.newline }
    let check = Hexadecimal.text(of: UInt64(crc32c(0, bytes))).suffix(8)
    let end: Document = ["end": .number(NumberText(Int64(changes.count))), "check": .string(String(check))]
    return bytes + end.json(.compact) + Self.newline
  }

  /// Reads a letter.
  ///
  /// - Throws: `ModelError.refused`, with what is wrong and in which line.
  package init(bytes: [UInt8]) throws(ModelError) {
    try Self.requireLength(bytes.count)
    var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, let last = lines.popLast(), let first = lines.first else {
      throw .refused(reason: "the letter is cut off")
    }
    let end = try LetterLine(last, number: lines.count + 1)
    let check = Hexadecimal.text(of: UInt64(crc32c(0, Array(bytes[..<last.startIndex])))).suffix(8)
    guard try end.text("check") == String(check), try end.number("end") == Int64(lines.count) - 1 else {
      throw .refused(reason: "the letter is not as it was sent: its check, or the count of its changes, is another")
    }
    let head = try LetterLine(first, number: 1)
    let format = try head.number("strata-letter")
    guard format == Self.format else {
      throw .refused(reason: "the letter has format \(format), which is newer than this program")
    }
    store = try head.optionalText("store")
    guard let date = MomentText.nanoseconds(try head.text("date")) else { throw head.fault("“date” is not a date") }
    self.date = date
    program = try head.text("program")
    author = try head.text("author")
    action = try head.text("action")
    base = try head.optionalText("base").map { text throws(ModelError) in
      guard let base = CommitIdentity(text: text) else { throw head.fault("“base” is not a commit") }
      return base
    }
    changes = []
    for (place, line) in lines.enumerated().dropFirst() {
      changes.append(try Change(LetterLine(line, number: place + 1)))
    }
    try requireShortTexts()
  }

  static func requireLength(_ count: Int) throws(ModelError) {
    if count > mostBytes { throw .refused(reason: "the letter has \(count) bytes, and \(mostBytes) are the most") }
  }

  /// Throws if a commit cannot have a text of the letter. A longer action is shortened.
  func requireShortTexts() throws(ModelError) {
    for (name, text) in [("program", program), ("author", author)] where text.utf8.count > Limits.text {
      throw .refused(reason: "the letter's \(name) has \(text.utf8.count) bytes, and \(Limits.text) are the most")
    }
  }

  private static let newline: [UInt8] = [0x0A]
}

extension Letter.Change {
  /// The change as a line without its end.
  fileprivate var bytes: [UInt8] {
    let name = JSONWriter.literal(datastore)
    func line(_ kind: String, _ rest: [UInt8] = []) -> [UInt8] {
      Array("{\"\(kind)\":\(name),\"id\":".utf8) + identifier.bytes + rest + Array("}".utf8)
    }
    switch kind {
    case .delete: return line("delete")
    case .patch(let value): return line("patch", Array(",\"value\":".utf8) + value)
    case .put(let content, let isNew):
      let head = Array(",\"version\":\(JSONWriter.literal(content.version))\(isNew ? ",\"new\":true" : "")".utf8)
      // Other bytes, such as a property list, are kept as Base64.
      let value =
        JSONMembers.isLine(content.bytes)
        ? Array(",\"value\":".utf8) + content.bytes
        : Array(",\"bytes\":\"\(Base64.text(of: content.bytes))\"".utf8)
      return line("put", head + value)
    }
  }

  fileprivate init(_ line: LetterLine) throws(ModelError) {
    let (kind, name) = try line.kind
    datastore = name
    guard let raw = line.raw("id"), let identifier = try? JSONParser.parse(Array(raw)) else {
      throw line.fault("“id” is missing")
    }
    self.identifier = Letter.JSONBytes(identifier)
    switch kind {
    case "delete": self.kind = .delete
    case "patch":
      guard let value = line.raw("value"), value.first == UInt8(ascii: "{") else {
        throw line.fault("“value” is not an object")
      }
      self.kind = .patch(Array(value))
    case "put":
      let version = try line.text("version")
      let content: [UInt8]
      if let value = line.raw("value") {
        content = Array(value)
      } else if let value = Base64.bytes(of: try line.text("bytes")) {
        content = value
      } else {
        throw line.fault("“bytes” is not Base64")
      }
      let isNew = line.raw("new")?.elementsEqual("true".utf8) ?? false
      self.kind = .put(RecordContent(version: version, bytes: content), isNew: isNew)
    default: throw line.fault("“\(kind)” is not a change that this program knows")
    }
  }
}

private struct LetterLine {
  private let bytes: [UInt8]
  private let number: Int
  private let members: [(name: String, value: Range<Int>)]

  init(_ line: ArraySlice<UInt8>, number: Int) throws(ModelError) {
    bytes = Array(line)
    self.number = number
    guard let members = bytes.withUnsafeBytes({ JSONMembers.ranges(in: $0) }) else {
      throw .refused(reason: "line \(number) of the letter is not a JSON object")
    }
    self.members = members
  }

  /// Name and text of the first member.
  var kind: (name: String, text: String) {
    get throws(ModelError) {
      guard let name = members.first?.name else { throw fault("it is empty") }
      return (name, try text(name))
    }
  }

  func raw(_ name: String) -> ArraySlice<UInt8>? { members.last { $0.name == name }.map { bytes[$0.value] } }

  func optionalText(_ name: String) throws(ModelError) -> String? { raw(name) == nil ? nil : try text(name) }

  func text(_ name: String) throws(ModelError) -> String {
    guard case .string(let text)? = document(name) else { throw fault("“\(name)” is not text") }
    return text
  }

  func number(_ name: String) throws(ModelError) -> Int64 {
    guard case .number(let number)? = document(name), let value = Int64(number.text) else {
      throw fault("“\(name)” is not a number")
    }
    return value
  }

  func fault(_ reason: String) -> ModelError { .refused(reason: "line \(number) of the letter: \(reason)") }

  private func document(_ name: String) -> Document? { raw(name).flatMap { try? JSONParser.parse(Array($0)) } }
}
