import Documents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Staged changes as text: one JSON object a line, so that a person can read them when all else fails.
///
///     {"base":4820,"format":1,"position":1,"steps":1}
///     {"edits":1,"step":"price of 00A1-790"}
///     {"datastore":"Books","id":"0230…","new":{"text":"{…}","version":"1"},"old":{"text":"{…}","version":"1"}}
///     {"end":true}
///
/// Content that is no UTF-8 is written as base64 under `data`. Without the last line the file is not whole.
struct StagedText {
  let path: String

  private struct Head: Codable {
    var format: Int
    var base: UInt64?
    var position: Int
    var steps: Int
  }

  private struct Step: Codable {
    var step: String
    var edits: Int
  }

  private struct Edit: Codable {
    var datastore: String
    var id: String
    var old: Content?
    var new: Content?
  }

  private struct Content: Codable {
    var version: String
    var text: String?
    var data: Data?
  }

  private struct End: Codable { var end: Bool }

  func bytes(of staged: StagedChanges) throws(ModelError) -> [UInt8] {
    var lines: [UInt8] = []
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      func add(_ line: some Encodable) throws {
        lines += try encoder.encode(line)
        lines.append(0x0A)
      }
      try add(
        Head(format: 1, base: staged.base?.rawValue, position: staged.position, steps: staged.steps.count))
      for step in staged.steps {
        try add(Step(step: step.title, edits: step.edits.count))
        for edit in step.edits {
          try add(
            Edit(
              datastore: edit.datastore, id: Base64.text(of: edit.identifier.bytes), old: edit.old.map(content),
              new: edit.new.map(content)))
        }
      }
      try add(End(end: true))
    } catch {
      throw .unreadable(what: "the staged changes", where: "\(error)")
    }
    return lines
  }

  func changes(
    of bytes: [UInt8], key: (String, [UInt8]) throws(ModelError) -> StoredKey
  ) throws(ModelError) -> StagedChanges {
    var lines = LineReader(path: path, bytes: bytes)
    let head: Head = try lines.next()
    guard head.format == 1 else {
      throw .unreadable(what: "the staged changes", where: "\(path): they are of a later format (\(head.format))")
    }
    var steps: [StagedStep] = []
    for _ in 0..<max(0, head.steps) {
      let line: Step = try lines.next()
      var step = StagedStep(title: line.step, edits: [])
      for _ in 0..<max(0, line.edits) {
        let edit: Edit = try lines.next()
        guard let identifier = Base64.bytes(of: edit.id) else { throw lines.unreadable("the id is not base64") }
        step.edits.append(
          RecordEdit(
            datastore: edit.datastore, identifier: try key(edit.datastore, identifier), old: content(edit.old),
            new: content(edit.new)))
      }
      steps.append(step)
    }
    let end: End = try lines.next()
    guard end.end else { throw lines.unreadable("it does not end") }
    return StagedChanges(base: head.base.map { CommitNumber($0) }, steps: steps, position: head.position)
  }

  private func content(_ content: RecordContent) -> Content {
    if let text = String(validating: content.bytes, as: UTF8.self) {
      return Content(version: content.version, text: text, data: nil)
    }
    return Content(version: content.version, text: nil, data: Data(content.bytes))
  }

  private func content(_ content: Content?) -> RecordContent? {
    content.map {
      RecordContent(version: $0.version, bytes: $0.text.map { Array($0.utf8) } ?? [UInt8]($0.data ?? Data()))
    }
  }
}

/// Reads a file line by line, each as one JSON object.
private struct LineReader {
  let path: String
  private var lines: ArraySlice<ArraySlice<UInt8>>
  private var number = 0

  init(path: String, bytes: [UInt8]) {
    self.path = path
    lines = bytes.split(separator: 0x0A)[...]
  }

  mutating func next<Line: Decodable>() throws(ModelError) -> Line {
    number += 1
    guard let line = lines.popFirst() else { throw unreadable("the file ends too early") }
    do {
      return try JSONDecoder().decode(Line.self, from: Data(line))
    } catch {
      throw unreadable("not what stands there in a file of staged changes")
    }
  }

  func unreadable(_ reason: String) -> ModelError {
    .unreadable(what: "the staged changes", where: "\(path):\(number): \(reason)")
  }
}
