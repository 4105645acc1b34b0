import DiskSimulation
import Foundation
import StrataEngine
import Testing

@testable import StrataModel

/// What the verbs do with contents and descriptors that cannot be read: all else, and they say what is left out.
extension DamagedStoreVerbTests {
  /// Flips a bit in the first content of a river.
  private func damageFirst(_ river: Int) throws {
    let url = URL(filePath: path + "/data")
    var data = try Data(contentsOf: url)
    let content = try #require(data.range(of: Data(#""name":"River \#(river)""#.utf8)))
    data[content.upperBound - 2] ^= 1
    try data.write(to: url)
  }

  @Test("an undo brings back all but what cannot be read, and says what that is")
  func undoOfDamaged() throws {
    #expect(try ProgramRun(["delete", path, "River", "51", "52", "53"]).status == 0)
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id": 9, "name": "Later", "km": 1}"#).status == 0)
    try damageFirst(52)
    let run = try ProgramRun(["undo", path, "8"])
    #expect(run.status == 3)
    let words = "damage keeps the undo from 1 record: River 52 (damaged record at byte"
    #expect(run.complaint.contains(words), "\(run.complaint)")
    #expect(try ProgramRun(["get", path, "River", "51"]).output.contains("River 51"))
    #expect(try ProgramRun(["get", path, "River", "53"]).output.contains("River 53"))
    #expect(try ProgramRun(["get", path, "River", "52"]).status == 1)
    try damageFirst(3)
    let nothing = try ProgramRun(["undo", path, "4"])
    #expect(nothing.status == 1 && nothing.complaint.contains("from 1 record: River 3 (dam"), "\(nothing.complaint)")
    #expect(try ProgramRun(["verify", path]).output.contains("wrong: ") == false)
  }

  @Test("a comparison lists a record that cannot be read as one that cannot be compared")
  func comparisonOfDamaged() throws {
    try damageFirst(3)
    let run = try ProgramRun(["diff", path, "1", "7"])
    #expect(run.status == 3)
    #expect(run.lines.count { $0.hasPrefix("~ River") } == 6, "\(run.output)")
    let place = try #require(run.lines.firstIndex(of: "~ River 3"))
    #expect(run.lines[place + 1].contains("cannot be read: damaged record at byte"), "\(run.output)")
    #expect(run.lines.count { $0.contains("    .name: ") } == 5, "\(run.output)")
    let json = try ProgramRun(["diff", path, "1", "7", "--json"])
    #expect(json.status == 3 && json.objects.count == 6, "\(json.output)")
    #expect(json.objects.count { ($0["problem"] as? String)?.contains("damaged record") == true } == 1)
  }

  @Test("a form of the whole store that ends at damage names the store and the way out")
  func wholeOfDamaged() throws {
    try damageFirst(3)
    for form in ["--history", "--interchange"] {
      let run = try ProgramRun(["export", path, form, "--at", "1"])
      #expect(run.status == 3 && run.complaint.contains("\(path): damaged record"), "\(form): \(run.complaint)")
      #expect(run.complaint.contains("strata salvage \(path) NEW"), "\(form): \(run.complaint)")
    }
  }

  @Test("an overview counts a record that cannot be read, and a delete of all that match leaves it")
  func overviewOfDamaged() throws {
    try damageRiver(6)
    for option in [[], ["--where", "id > 0"]] {
      let run = try ProgramRun(["describe", path, "River"] + option)
      #expect(run.status == 3 && run.complaint.contains("record 6 of River is left out"), "\(run.complaint)")
      #expect(run.lines.contains { $0.contains(".km") || $0.contains("km") }, "\(run.output)")
    }
    for condition in ["km < 7", "name starts with \"New\""] {
      let run = try ProgramRun(["delete", path, "River", "--where", condition])
      #expect(run.status == 3 && run.complaint.contains("record 6 of River is left out"), "\(run.complaint)")
      #expect(try ProgramRun(["records", path, "River"]).lines.count == 54)
      #expect(try ProgramRun(["undo", path]).status == 0)
      #expect(try ProgramRun(["records", path, "River"]).lines.count == 59)
    }
  }

  @Test("an index is named for its field also where a record cannot be read")
  func namedIndexOfDamaged() throws {
    let more = try folder.file("more.jsonl", #"{"id":61,"name":"River 61","km":1}"#)
    #expect(try ProgramRun(["import", path, "River", more, "--id", "id", "--index", "title=name"]).status == 0)
    try damageRiver(1)
    let kept = try ProgramRun(["records", path, "River", "--where", #"title starts with "New""#])
    #expect(kept.status == 3 && kept.complaint.contains("record 1 of River is left out"), "\(kept.complaint)")
    #expect(kept.lines.count == 5, "\(kept.output)")
    #expect(try ProgramRun(["records", path, "River", "--group-by", "title", "--sum", "km"]).lines.count == 60)
  }

  @Test("a datastore whose descriptor is damaged is named, and is in no way of the others")
  func damagedDescriptor() throws {
    let lakes = try folder.file("lakes.jsonl", #"{"id": 1, "name": "Lake 1"}"# + "\n" + #"{"id": 2, "name": "Lake 2"}"#)
    #expect(try ProgramRun(["import", path, "Lake", lakes, "--id", "id"]).status == 0)
    #expect(try ProgramRun(["put", path, "Lake"], input: #"{"id": 2, "name": "Deeper"}"#).status == 0)
    let changes = try frames()[0].changes
    try damage(changes.lowerBound..<(changes.lowerBound + 60))
    let words = "the descriptor of River cannot be read: damaged record at byte"
    for arguments in [["info", path], ["export", path], ["records", path, "River"], ["get", path, "River", "1"]] {
      let run = try ProgramRun(arguments)
      #expect(run.status == 3 && run.complaint.contains(words), "\(arguments): \(run.complaint)")
      #expect(run.output.contains("Lake") == (arguments.count == 2), "\(arguments): \(run.output)")
    }
    #expect(try ProgramRun(["records", path, "Lake"]).lines.count == 2)
    #expect(try ProgramRun(["diff", path, "8", "9"]).lines.first == "~ Lake 2")
    #expect(try ProgramRun(["history", path]).lines.count == 9)
    #expect(try ProgramRun(["put", path, "Lake"], input: #"{"id": 3, "name": "Lake 3"}"#).status == 0)
    #expect(try ProgramRun(["undo", path]).status == 0)
    #expect(try ProgramRun(["undo", path, "9"]).status == 0)
    #expect(try ProgramRun(["get", path, "Lake", "2"]).output.contains("Lake 2"))
    #expect(try ProgramRun(["restore", path, "9", "Lake"]).status == 0)
    #expect(try ProgramRun(["delete", path, "Lake", "--where", "id > 0"]).status == 0)
    let wrong = try ProgramRun(["records", path, "Sea"])
    #expect(wrong.complaint.contains("there are Lake, River"), "\(wrong.complaint)")
  }

  @Test("a datastore whose newest descriptor is damaged comes back with an older commit")
  func restoredDescriptor() throws {
    let store = try EngineStore.open(path: path)
    _ = try store.transact(CommitInfo(action: "mark stale")) { transaction throws(ModelError) in
      var descriptor = try store.baseView(of: transaction).requiredDatastore("River").descriptor
      descriptor.markStale(["km"])
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    try store.engine.close()
    let url = URL(filePath: path + "/data")
    var data = try Data(contentsOf: url)
    let content = try #require(data.range(of: Data(#""isStale":true"#.utf8), options: .backwards))
    data[content.lowerBound + 3] ^= 1
    try data.write(to: url)
    #expect(try ProgramRun(["records", path, "River"]).status == 3)
    #expect(try ProgramRun(["restore", path, "7", "River"]).status == 0)
    #expect(try ProgramRun(["records", path, "River", "--index", "km"]).lines.count == 60)
    #expect(try ProgramRun(["verify", path]).output.contains("wrong: ") == false)
  }
}
