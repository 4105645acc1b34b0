import StrataDocuments
import StrataModel
import Foundation
import Testing

@testable import StrataFolders

/// Stores that the original library wrote, unpacked for one test, with what a reader must find in them.
///
/// They lie beside the checkout in `../shared/fixtures`, or where `STRATA_SHARED` says.
final class Fixture: Sendable {
  let name: String
  let expected: Document
  let path: String
  private let directory: TemporaryDirectory

  static let directory: String = {
    if let shared = ProcessInfo.processInfo.environment["STRATA_SHARED"] { return shared + "/fixtures" }
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return package.deletingLastPathComponent().appending(path: "shared/fixtures").path
  }()

  /// The names of all that are there; none where the folder is absent, and then the tests are skipped.
  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return files.filter { $0.hasSuffix(".expected.json") }.map { String($0.dropLast(".expected.json".count)) }.sorted()
  }()

  static var areThere: Bool { !names.isEmpty }
  static let absence: Comment =
    "the stores of ../shared/fixtures are not beside this checkout (STRATA_SHARED may name them)"

  init(_ name: String) throws {
    self.name = name
    directory = try TemporaryDirectory()
    let text = try Data(contentsOf: URL(filePath: "\(Self.directory)/\(name).expected.json"))
    expected = try JSONParser.parse([UInt8](text))
    let tar = Process()
    tar.executableURL = URL(filePath: "/bin/tar")
    tar.arguments = ["-xzf", "\(Self.directory)/\(name).tar.gz", "-C", directory.path]
    try tar.run()
    tar.waitUntilExit()
    try #require(tar.terminationStatus == 0)
    path = "\(directory.path)/\(name).persistencestore"
  }

  func open() throws -> FolderStore { try FolderStore(at: path) }

  var datastores: [Document] { expected["datastores"].elements }
  var history: [Document] { expected["history"].elements }
}

/// A folder of one test's own, removed with it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/strata-folder-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Short ways into an expected file.
extension Document {
  subscript(_ member: String) -> Document { self[member: member] ?? .null }

  var elements: [Document] { if case .array(let elements) = self { elements } else { [] } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var integer: Int? { if case .number(let number) = self { number.integer.map(Int.init) } else { nil } }
  var isTrue: Bool { if case .bool(true) = self { true } else { false } }
  var isNull: Bool { if case .null = self { true } else { false } }
  var members: [Document.Member] { if case .object(let members) = self { members } else { [] } }

  /// As expected files write values: dates as seconds, data as base64.
  var plain: Document {
    switch self {
    case .date(let seconds): .number(NumberText(seconds))
    case .data(let bytes): .string(Data(bytes).base64EncodedString())
    case .array(let elements): .array(elements.map(\.plain))
    case .object(let members): .object(members.map { Member($0.name, $0.value.plain) })
    default: self
    }
  }

  /// The canonical form of which the expected files hold hashes: sorted members, no spaces, text as it is.
  var hashedText: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let number): number.isInteger ? number.text : "\(number.double)"
    case .string(let text): Self.quoted(text)
    case .date, .data: plain.hashedText
    case .array(let elements): "[" + elements.map(\.hashedText).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { Array($0.name.unicodeScalars).lexicographicallyPrecedes(Array($1.name.unicodeScalars)) }
        .map { Self.quoted($0.name) + ":" + $0.value.hashedText }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{8}": result += "\\b"
      case "\u{C}": result += "\\f"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension ReadableDatastore {
  /// All records in primary order.
  func allRecords() throws -> [Record] {
    var records: [Record] = []
    for entry in try primary.entries(at: 0..<(try primary.rank(of: .end))) {
      records.append(try #require(try record(entry.identifier)))
    }
    return records
  }

  /// The hash that expected files hold of a state.
  func hash() throws -> String {
    var hash = SHA256()
    for record in try allRecords() { hash.update(Array((try record.document().hashedText + "\n").utf8)) }
    return hash.hexDigest
  }
}
