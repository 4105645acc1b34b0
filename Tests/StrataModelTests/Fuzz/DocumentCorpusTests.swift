import StrataDocuments
import Foundation
import StrataEngine
import Testing

@testable import StrataModel

/// What the fuzzer of stored contents begins from and what it has found. `STRATA_WRITE_CORPUS=1` writes the beginnings anew.
@Suite("Document fuzzer's corpus")
struct DocumentCorpusTests {
  private static let folder = URL(filePath: #filePath).appending(path: "../../../Fuzz/Corpus/Document")
    .standardizedFileURL

  @Test(
    "records' contents, descriptors, activity and staged changes",
    .disabled(if: ProcessInfo.processInfo.environment["STRATA_WRITE_CORPUS"] != nil))
  func replay() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
    #expect(names.count >= 7)
    for name in names {
      let input = [UInt8](try Data(contentsOf: Self.folder.appending(path: name)))
      #expect(DocumentFuzzTarget.run(input) == nil, "\(name)")
    }
  }

  @Test("each beginning with each of its bytes changed", arguments: 0..<7 as Range<UInt8>)
  func changed(_ kind: UInt8) throws {
    let bytes = try Self.beginnings()[Int(kind)]
    for place in bytes.indices {
      for value: UInt8 in [0, 7, 0x22, 0x30, 0x7F, 0xFF, bytes[place] ^ 1] {
        var changed = bytes
        changed[place] = value
        if let problem = DocumentFuzzTarget.run([kind] + changed) {
          Issue.record("byte \(place) = \(value): \(problem)")
        }
      }
      if let problem = DocumentFuzzTarget.run([kind] + bytes[..<place]) { Issue.record("cut at \(place): \(problem)") }
    }
  }

  @Test("a binary property list whose table of offsets lies before its objects is told to be damaged")
  func tableBeforeObjects() throws {
    var list = Array("bplist00".utf8) + [8, 8]
    list += [0, 0, 0, 0, 0, 0, 1, 1]
    for number in [1, 0, 2] as [UInt8] { list += [0, 0, 0, 0, 0, 0, 0, number] }
    #expect(throws: DocumentError.self) { try RecordCoding.binaryPropertyList.document(of: list) }
  }

  @Test("a report of activity with counts that cannot be is none")
  func activity() throws {
    func report(_ done: String, _ startedAt: String) -> Activity? {
      Activity(bytes: Array(#"{"title":"a","done":\#(done),"total":4,"startedAt":\#(startedAt),"steps":[]}"#.utf8))
    }
    #expect(report("3", "5")?.done == 3)
    #expect(report("-9223372036854775808", "5") == nil)
    #expect(report("3", "-9223372036854775808") == nil)
  }

  private static func beginnings() throws -> [[UInt8]] {
    let document: Document = [
      "name": "Zürich \"x\"", "count": 12, "share": 0.25, "isOpen": true, "none": nil, "tags": ["a", "b", ["c": 1]],
    ]
    let descriptor = DatastoreDescriptor(
      key: "Books", version: "beta", versionIsString: true, identifierType: "Int", identifierEncoding: .integer,
      coding: .json,
      indexes: [])
    let activity = Activity(
      title: "warm-up", done: 3, total: 9, startedAt: 1_800_000_000_000_000_000,
      steps: [Activity.Step(title: "name", done: 1, total: 2, isComplete: false)])
    let key = StoredKey(bytes: [1, 2], value: .data([1, 2]))
    let staged = StagedChanges(
      base: CommitNumber(4),
      steps: [
        StagedStep(
          title: "price",
          edits: [
            RecordEdit(
              datastore: "Books", identifier: key, old: RecordContent(version: "1", bytes: Array(#"{"a":1}"#.utf8)),
              new: RecordContent(version: "1", bytes: [0xFF, 0]))
          ])
      ])
    return [
      try RecordCoding.json.encode(document),
      try RecordCoding.binaryPropertyList.encode(document),
      try RecordCoding.xmlPropertyList.encode(document),
      try descriptor.bytes,
      activity.bytes,
      StagedText(path: "/staged").bytes(of: staged),
      RecordBytes.make(version: "alpha", content: Array(#"{"n":1}"#.utf8)),
    ]
  }

  @Test("the beginnings are written", .enabled(if: ProcessInfo.processInfo.environment["STRATA_WRITE_CORPUS"] != nil))
  func write() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    for (kind, bytes) in try Self.beginnings().enumerated() {
      try Data([UInt8(kind)] + bytes).write(to: Self.folder.appending(path: "beginning-\(kind)"))
    }
  }
}
