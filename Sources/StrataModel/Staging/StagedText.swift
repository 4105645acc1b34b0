import StrataDocuments

/// Staged changes as text: one JSON object per line, so that a user can read them if everything else fails.
///
///     {"base":4820,"format":1,"position":1,"steps":1}
///     {"edits":1,"step":"price of 00A1-790"}
///     {"datastore":"Books","id":"0230…","new":{"text":"{…}","version":"1"},"old":{"text":"{…}","version":"1"}}
///     {"end":true}
///
/// Content that is not UTF-8 is written as base64 under `data`. Without the last line the file is incomplete.
struct StagedText {
  let path: String

  func bytes(of staged: StagedChanges) -> [UInt8] {
    var lines: [UInt8] = []
    func add(_ line: String) {
      lines += line.utf8
      lines.append(0x0A)
    }
    let base = staged.base.map { "\"base\":\($0.rawValue)," } ?? ""
    add("{\(base)\"format\":1,\"position\":\(staged.position),\"steps\":\(staged.steps.count)}")
    for step in staged.steps {
      add("{\"edits\":\(step.edits.count),\"step\":\(JSONWriter.literal(step.title))}")
      for edit in step.edits {
        let place =
          "\"datastore\":\(JSONWriter.literal(edit.datastore)),\"id\":\"\(Base64.text(of: edit.identifier.bytes))\""
        add("{\(place)\(member("new", edit.new))\(member("old", edit.old))}")
      }
    }
    add("{\"end\":true}")
    return lines
  }

  private func member(_ name: String, _ content: RecordContent?) -> String {
    guard let content else { return "" }
    let text =
      String(validating: content.bytes, as: UTF8.self).map { "\"text\":\(JSONWriter.literal($0))" }
      ?? "\"data\":\"\(Base64.text(of: content.bytes))\""
    return ",\"\(name)\":{\(text),\"version\":\(JSONWriter.literal(content.version))}"
  }

  /// - Parameters:
  ///   - descriptors: give the types of each datastore's identifiers.
  ///   - counted: receives the number of changes, before they are read.
  func changes(
    of bytes: [UInt8], _ descriptors: [DatastoreDescriptor] = [], counted: (Int) -> Void = { _ in }
  ) throws(ModelError) -> StagedChanges {
    let known = Dictionary(descriptors.map { ($0.key, $0) }) { first, _ in first }
    var lines = LineReader(path: path, bytes: bytes)
    let head = try lines.next()
    let format = try head.count("format")
    guard format == 1 else {
      throw .unreadable(what: "the staged changes", where: "\(path): they are of a later format (\(format))")
    }
    let stepCount = try head.count("steps")
    counted(max(0, bytes.count { $0 == 0x0A } - min(stepCount, bytes.count) - 2))
    var steps: [StagedStep] = []
    for _ in 0..<stepCount {
      let line = try lines.next()
      var step = StagedStep(title: try line.text("step"), edits: [])
      for _ in 0..<(try line.count("edits")) {
        let edit = try lines.next()
        guard let identifier = Base64.bytes(of: try edit.text("id")) else {
          throw edit.unreadable("the id is not base64")
        }
        let datastore = try edit.text("datastore")
        let key = known[datastore]?.storedKey(identifier) ?? StoredKey(bytes: identifier, value: .data(identifier))
        step.edits.append(
          RecordEdit(
            datastore: datastore, identifier: key, old: try edit.content("old"), new: try edit.content("new")))
      }
      steps.append(step)
    }
    let end = try lines.next()
    guard end["end"] == true else { throw end.unreadable("it does not end") }
    let base = try head["base"].map { _ throws(ModelError) in CommitNumber(UInt64(try head.count("base"))) }
    return StagedChanges(base: base, steps: steps, position: try head.count("position"))
  }
}

extension ChangeSet {
  /// The changes as lines of text, for another computer.
  package func text(titled title: String) -> [UInt8] {
    StagedText(path: "").bytes(of: StagedChanges(base: base, steps: [StagedStep(title: title, edits: changes)]))
  }

  /// Reads the lines that `text(titled:)` has made, for a view that gives the types of identifiers. Returns the changes and their title.
  package static func read(
    _ text: [UInt8], for view: any ReadableView
  ) throws(ModelError) -> (changes: ChangeSet, title: String) {
    let staged = try StagedText(path: "the line").changes(of: text, view.datastores.map(\.descriptor))
    guard let step = staged.steps.first, staged.steps.count == 1 else {
      throw .refused(reason: "the changes that came are not those of one commit")
    }
    return (ChangeSet(base: staged.base, changes: step.edits), step.title)
  }
}

/// Reads a file line by line, each as one JSON object.
private struct LineReader {
  let path: String
  let bytes: [UInt8]
  var at = 0
  var number = 0

  mutating func next() throws(ModelError) -> Line {
    while at < bytes.count, bytes[at] == 0x0A { at += 1 }
    let end = bytes[at...].firstIndex(of: 0x0A) ?? bytes.count
    number += 1
    let place = "\(path):\(number)"
    guard at < end else { throw Line(place: place, members: []).unreadable("the file ends too early") }
    let range = at..<end
    at = end
    let document = bytes.withUnsafeBytes { try? JSONParser.parse(UnsafeRawBufferPointer(rebasing: $0[range])) }
    guard case .object(let members)? = document else {
      throw Line(place: place, members: []).unreadable("not what stands there in a file of staged changes")
    }
    return Line(place: place, members: members)
  }
}

private struct Line {
  let place: String
  let members: [Document.Member]

  subscript(name: String) -> Document? { members.last { $0.name == name }?.value }

  func text(_ name: String) throws(ModelError) -> String {
    guard case .string(let text)? = self[name] else { throw unreadable("“\(name)” is not text") }
    return text
  }

  func count(_ name: String) throws(ModelError) -> Int {
    guard case .number(let number)? = self[name], let count = Int(number.text), count >= 0 else {
      throw unreadable("“\(name)” is not a count")
    }
    return count
  }

  func content(_ name: String) throws(ModelError) -> RecordContent? {
    guard case .object(let members)? = self[name] else { return nil }
    let part = Line(place: place, members: members)
    let version = try part.text("version")
    guard part["data"] != nil else { return RecordContent(version: version, bytes: Array(try part.text("text").utf8)) }
    guard let bytes = Base64.bytes(of: try part.text("data")) else { throw unreadable("the data is not base64") }
    return RecordContent(version: version, bytes: bytes)
  }

  func unreadable(_ reason: String) -> ModelError {
    .unreadable(what: "the staged changes", where: "\(place): \(reason)")
  }
}
