import StrataEngine
import Testing

/// The mutation run leaves out what its list names. Here the list is held against the sources, so that nothing new goes
/// untried and nothing old stays in the list.
@Suite("The list of mutations")
struct MutationListTests {
  private static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

  private struct Entry {
    var kind: String
    var file: String
    var text: String
    var line: String
  }

  private func text(_ path: String) throws -> String {
    let file = try SystemDisk().open(path, .read)
    var bytes = [UInt8](repeating: 0, count: Int(try file.status.size))
    _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `KIND FILE: TEXT`, with ` #2` behind it for a second occurrence, ` => OTHER` where it is swapped for that, and ` — why` where it is kept.
  private func entries() throws -> [Entry] {
    try text("\(Self.root)/Tests/Mutation/mutations").split(separator: "\n").compactMap { line in
      guard !line.hasPrefix("#"), let colon = line.firstRange(of: ": ") else { return nil }
      let words = line[..<colon.lowerBound].split(separator: " ")
      guard words.count == 2 else { return nil }
      var text = line[colon.upperBound...]
      if let dash = text.firstRange(of: " — ") { text = text[..<dash.lowerBound] }
      if let arrow = text.firstRange(of: " => ") { text = text[..<arrow.lowerBound] }
      if let mark = text.firstRange(of: " #") { text = text[..<mark.lowerBound] }
      return Entry(kind: String(words[0]), file: String(words[1]), text: String(text), line: String(line))
    }
  }

  /// Every Swift file of the engine, by its path inside the module.
  private func sources() throws -> [String: String] {
    var found: [String: String] = [:]
    var folders = [""]
    let disk = SystemDisk()
    let engine = "\(Self.root)/Sources/StrataEngine"
    while let folder = folders.popLast() {
      for name in try disk.list(engine + folder) {
        let path = "\(folder)/\(name)"
        if try disk.status(engine + path)?.isDirectory == true {
          folders.append(path)
        } else if name.hasSuffix(".swift") {
          found[String(path.dropFirst())] = try text(engine + path)
        }
      }
    }
    return found
  }

  /// Statements that make something durable, give a file another name, or compare a hash: line breaks before operators do
  /// not part them.
  private func statements(of source: String) -> [String] {
    var joined: [Substring] = []
    for line in source.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
      if line.hasPrefix("== ") || line.hasPrefix("!= "), let before = joined.popLast() {
        joined.append(before + " " + line)
      } else {
        joined.append(line)
      }
    }
    return joined.filter(isTold).map(String.init)
  }

  private static let calls = [
    ".sync(", ".syncDirectory(", ".rename(", " fsync(", " fdatasync(", "systemRename(", "calling(\"rename\"",
    "F_FULLFSYNC",
  ]

  private func isTold(_ line: Substring) -> Bool {
    guard !line.hasPrefix("//"), !line.contains("func ") else { return false }
    if Self.calls.contains(where: { line.contains($0) }) { return true }
    guard line.contains(" == ") || line.contains(" != ") else { return false }
    return [" hash", ".hash", "Hash", " check", ".check", "Check", "checksum("].contains { line.contains($0) }
  }

  @Test("every sync, every rename and every comparison of a hash in the engine is tried, or the list says why not")
  func complete() throws {
    let entries = try entries()
    var count = 0
    for (file, source) in try sources() {
      for line in statements(of: source) {
        count += 1
        let isListed = entries.contains { $0.file == file && line.contains($0.text) }
        #expect(isListed, "\(file): \(line)")
      }
    }
    #expect(count >= 35, "the statements are not found any more")
  }

  @Test("everything in the list is in the sources")
  func current() throws {
    let sources = try sources()
    for entry in try entries() {
      #expect(["call", "system", "check", "swap", "kept"].contains(entry.kind), "\(entry.line)")
      #expect(sources[entry.file]?.contains(entry.text) == true, "\(entry.line)")
      #expect((entry.kind == "kept") == entry.line.contains(" — "), "\(entry.line)")
    }
    #expect(try entries().count { $0.kind != "kept" } >= 37)
  }
}
