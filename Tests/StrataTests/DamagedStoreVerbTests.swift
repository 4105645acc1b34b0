import DiskSimulation
import Foundation
import Testing

/// What `verify` and `salvage` say and save of stores that were made by the verbs and damaged afterwards.
@Suite("Verbs on damaged stores")
struct DamagedStoreVerbTests {
  let folder: TemporaryFolder
  var path: String { folder.path("Rivers.strata") }

  /// A copy for each test: making the store takes seven runs of the program.
  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: try Self.source.get().path("Rivers.strata"), toPath: path)
  }

  /// Sixty rivers with two indexes, and six commits after them.
  private static let source = Result {
    let folder = try TemporaryFolder()
    let path = folder.path("Rivers.strata")
    let rivers = (1...60).map { #"{"id": \#($0), "name": "River \#($0)", "km": \#($0 * 7)}"# }.joined(separator: "\n")
    let file = try folder.file("rivers.jsonl", rivers)
    let made = try ProgramRun(
      ["import", path, "River", file, "--id", "id", "--index", "km=km", "--index", "name=name"])
    #expect(made.status == 0, "\(made.complaint)")
    for number in 1...6 {
      let run = try ProgramRun(
        ["put", path, "River"], input: #"{"id": \#(number), "name": "New \#(number)", "km": \#(number)}"#)
      #expect(run.status == 0, "\(run.complaint)")
    }
    return folder
  }

  private func records(_ path: String) throws -> Set<String> {
    let run = try ProgramRun(["export", path, "River"])
    #expect(run.status == 0, "\(run.complaint)")
    return Set(run.lines)
  }

  /// Overwrites bytes of the store's data.
  func damage(_ range: Range<Int>) throws {
    let url = URL(filePath: path + "/data")
    var data = try Data(contentsOf: url)
    for place in range { data[place] ^= 0xFF }
    try data.write(to: url)
  }

  func frames() throws -> [FrameMap.Frame] {
    FrameMap([UInt8](try Data(contentsOf: URL(filePath: path + "/data")))).frames
  }

  @Test(
    "each part of a first, a middle and a last commit: verify says so, salvage saves all but what it names, in a clean store",
    arguments: [0, 3, 6], FrameMap.Part.allCases)
  func plantedDamage(_ commit: Int, _ part: FrameMap.Part) throws {
    let before = try records(path)
    let frames = try frames()
    #expect(frames.count == 7)
    let range = frames[commit][part]
    let middle = range.lowerBound + range.count / 2
    try damage(middle..<(middle + 3))

    let verified = try ProgramRun(["verify", path])
    #expect(verified.status == 3)
    #expect(verified.lines.contains { $0.hasPrefix("damage: ") && $0.contains("of commit #\(commit + 1)") })
    #expect(!verified.output.contains("DRiver") && !verified.output.contains("IRiver"))

    let newPath = folder.path("Saved.strata")
    let saved = try ProgramRun(["salvage", path, newPath])
    let lost = saved.lines.filter { $0.hasPrefix("lost: ") }
    #expect(saved.status == (lost.isEmpty ? 0 : 3))
    #expect(lost.isEmpty == (part == .trailer))
    #expect(!saved.output.contains("DRiver") && !saved.output.contains("IRiver"))
    let after = try records(newPath)
    let missing = before.subtracting(after)
    #expect(missing.count <= (part == .changes ? 1 : 0), "\(missing)")
    for record in missing {
      let number = try #require(record.split(separator: ",").first?.split(separator: ":").last)
      #expect(lost.contains { $0.contains("record \(number) of River") }, "\(lost)")
      if let named = verified.lines.first(where: { $0.contains("damage: record") }) {
        #expect(named.contains("record \(number) of commit"), "\(named)")
      }
    }
    let clean = try ProgramRun(["verify", newPath])
    #expect(clean.status == 0, "\(clean.output)")
  }

  @Test("a datastore whose descriptor is lost gets another one, so that its records can be read")
  func lostDescriptor() throws {
    let before = try records(path)
    let changes = try frames()[0].changes
    // The first change keeps the descriptor.
    try damage(changes.lowerBound..<(changes.lowerBound + 60))
    #expect(try ProgramRun(["info", path]).status == 3)
    let newPath = folder.path("Saved.strata")
    let saved = try ProgramRun(["salvage", path, newPath])
    #expect(saved.status == 3)
    #expect(saved.output.contains("the descriptor of River is lost"))
    #expect(
      saved.output.contains("identifiers are Int (.id); indexes that are gone with it: km, name"), "\(saved.output)")
    #expect(try records(newPath) == before)
    #expect(try ProgramRun(["verify", newPath]).status == 0)
    #expect(try ProgramRun(["put", newPath, "River"], input: #"{"id": 61, "name": "New", "km": 1}"#).status == 0)
  }

  @Test("a store that was cut short says so, and salvage names the commits that are gone")
  func cutShort() throws {
    let end = try frames()[3].trailer.upperBound
    let url = URL(filePath: path + "/data")
    try Data(contentsOf: url).prefix(end).write(to: url)
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id": 9}"#).status == 1)
    #expect(try ProgramRun(["verify", path]).status == 3)
    let saved = try ProgramRun(["salvage", path, folder.path("Saved.strata")])
    #expect(saved.status == 3)
    #expect(saved.lines.first == "lost: commits #5 to #7 are not in the file any more")
    let again = try ProgramRun(["salvage", path, folder.path("Saved.strata")])
    #expect(again.status == 1 && again.complaint.contains("something lies at"))
  }

  @Test("a verb that reads what is left of a damaged store, or copies it, says so and ends with status 3")
  func readingWhatIsLeft() throws {
    let end = try frames()[3].trailer.upperBound
    let url = URL(filePath: path + "/data")
    try Data(contentsOf: url).prefix(end).write(to: url)
    let verbs = [
      ["info", path], ["info", path, "--json"], ["records", path, "River"], ["get", path, "River", "9"],
      ["history", path],
      ["diff", path, "1", "2"], ["export", path], ["pin", path], ["compact", path, "--dry-run"],
      ["copy", path, folder.path("Copy.strata")],
    ]
    for verb in verbs {
      let run = try ProgramRun(verb)
      #expect(run.status == 3, "\(verb)")
      #expect(run.complaint.contains("the store can be read up to commit #4"), "\(verb): \(run.complaint)")
    }
    #expect(try records(folder.path("Copy.strata")).count == 60)
  }

  @Test(
    "a verb whose store another program cuts short meanwhile says so, prints what can be read, and ends with status 3")
  func cutWhileRead() throws {
    let padding = String(repeating: "x", count: 300)
    let rivers = (1...20_000).map { #"{"id": \#($0), "name": "\#(padding)", "km": 1}"# }.joined(separator: "\n")
    let many = folder.path("Many.strata")
    #expect(try ProgramRun(["import", many, "River", try folder.file("many.jsonl", rivers), "--id", "id"]).status == 0)
    let process = Process()
    let (output, complaint) = (Pipe(), Pipe())
    process.executableURL = ProgramRun.program
    process.arguments = ["export", many, "River"]
    (process.standardOutput, process.standardError) = (output, complaint)
    try process.run()
    // The processors read more than one part ahead, and a pipe holds less: it waits for this test in the middle of the store.
    _ = try output.fileHandleForReading.read(upToCount: 1 << 12)
    try FileHandle(forWritingTo: URL(filePath: many + "/data")).truncate(atOffset: 20_000)
    _ = try output.fileHandleForReading.readToEnd()
    let words = String(decoding: try complaint.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 3)
    #expect(words.contains("was cut short while it was read"), "\(words)")
  }

  @Test(
    "records and export print what can be read, name what they leave out, and end with status 3; --strict ends at once")
  func goingOn() throws {
    let before = try ProgramRun(["records", path, "River"]).lines
    // The value of the sixth river that was changed, and of some that the first commit wrote.
    let frames = try frames()
    let value = frames[6].changes
    try damage((value.lowerBound + value.count * 2 / 3)..<(value.lowerBound + value.count * 2 / 3 + 2))
    let first = frames[0].changes
    try damage((first.lowerBound + first.count / 2)..<(first.lowerBound + first.count / 2 + 400))
    for verb in [
      ["records", path, "River"], ["records", path, "River", "--index", "km"],
      ["records", path, "River", "--where", "km > 0"], ["export", path, "River"], ["export", path],
      ["export", path, "River", "--format", "csv"],
    ] {
      let run = try ProgramRun(verb)
      #expect(run.status == 3, "\(verb)")
      #expect(
        run.complaint.contains("record 6 of River is left out: damaged record at byte"), "\(verb): \(run.complaint)")
      let left = run.complaint.split(separator: "\n").count { $0.contains("is left out") }
      #expect(left > 1 && left < 20, "\(verb): \(run.complaint)")
      let extra = verb.contains("csv") ? 1 : 0
      #expect(run.lines.count == 60 + extra - left, "\(verb)")
      if verb.count == 3, verb[0] == "records" {
        #expect(
          run.lines == before.filter { line in !run.complaint.contains("record \(line.prefix { $0 != "\t" }) of") })
      }
      let strict = try ProgramRun(verb + ["--strict"])
      #expect(strict.status == 3 && strict.lines.count < run.lines.count, "\(verb)")
    }
  }

  @Test("records and export go on behind a node of the tree that cannot be read")
  func goingOnBehindNode() throws {
    let frames = try frames()
    let nodes = frames[6].nodes
    // The leaf of the datastore's tree comes first.
    try damage((nodes.lowerBound + 10)..<(nodes.lowerBound + 12))
    let run = try ProgramRun(["export", path, "River"])
    #expect(run.status == 3, "\(run.complaint)")
    #expect(!run.lines.isEmpty && run.lines.count < 60, "\(run.lines.count)")
    let lost = "\(60 - run.lines.count) records of River"
    #expect(run.complaint.contains("\(lost) before \(61 - run.lines.count) left out, because"), "\(run.complaint)")
  }

  @Test("info tells programs of damage too")
  func damageAsJSON() throws {
    #expect(try ProgramRun(["info", path, "--json"]).objects.first?["damage"] is NSNull)
    let end = try frames()[3].trailer.upperBound
    let url = URL(filePath: path + "/data")
    try Data(contentsOf: url).prefix(end).write(to: url)
    let damage = try ProgramRun(["info", path, "--json"]).objects.first?["damage"] as? String
    #expect(damage?.contains("the store can be read up to commit #4") == true)
  }

  @Test("data of length 0 beside a lock file is damage to every verb")
  func emptyData() throws {
    try Data().write(to: URL(filePath: path + "/data"))
    for verb in [["info", path], ["verify", path], ["salvage", path, folder.path("Saved.strata")]] {
      let run = try ProgramRun(verb)
      #expect(run.status == 3, "\(verb): \(run.complaint)")
      #expect(run.complaint.contains("damaged identity page at byte 0"), "\(run.complaint)")
    }
  }

  @Test("what lies in the folder beside the store is named by verify")
  func leftovers() throws {
    try Data(count: 99).write(to: URL(filePath: path + "/data.compact"))
    let run = try ProgramRun(["verify", path])
    #expect(run.status == 0)
    #expect(run.lines.contains { $0.hasPrefix("note: data.compact, 99 bytes: a compaction that is not finished") })
  }

  /// Flips a bit in the newest content of a river.
  func damageRiver(_ id: Int) throws {
    let url = URL(filePath: path + "/data")
    var data = try Data(contentsOf: url)
    let content = try #require(data.range(of: Data(#"{"id":\#(id),"name""#.utf8), options: .backwards))
    data[content.upperBound + 4] ^= 1
    try data.write(to: url)
  }

  @Test(
    "a damaged record can be replaced, by a letter too, deleted, restored and imported, and no index keeps an entry of it",
    arguments: ["put", "letter", "delete", "restore", "import"])
  func mending(_ verb: String) throws {
    try damageRiver(6)
    #expect(try ProgramRun(["get", path, "River", "6"]).status == 3)
    let part = try folder.file("part.jsonl", #"{"id":6,"km":5}"#)
    let merged = try ProgramRun(["import", path, "River", part, "--id", "id", "--merge"])
    #expect(
      merged.status != 0 && (merged.output + merged.complaint).contains("--replace"),
      "\(merged.output)\(merged.complaint)")
    let record = #"{"id":6,"name":"Mended","km":5}"#
    if verb == "letter" { #expect(try ProgramRun(["put", path, "River", "--inbox"], input: record).status == 0) }
    let run =
      switch verb {
      case "put": try ProgramRun(["put", path, "River"], input: record)
      case "letter": try ProgramRun(["inbox", path, "--apply"])
      case "delete": try ProgramRun(["delete", path, "River", "6"])
      case "restore": try ProgramRun(["restore", path, "1", "River", "6"])
      default: try ProgramRun(["import", path, "River", try folder.file("six.jsonl", record), "--id", "id"])
      }
    #expect(run.status == 0, "\(run.complaint)")
    let expected = ["delete": nil, "restore": "River 6"][verb] ?? "Mended"
    let got = try ProgramRun(["get", path, "River", "6"])
    #expect(got.status == (expected == nil ? 1 : 0), "\(got.complaint)")
    if let expected { #expect(got.output.contains(expected), "\(got.output)") }
    for option in [[], ["--index", "km"], ["--index", "name"]] {
      let records = try ProgramRun(["records", path, "River"] + option)
      #expect(
        records.status == 0 && records.lines.count == (expected == nil ? 59 : 60), "\(option): \(records.complaint)")
    }
    let verified = try ProgramRun(["verify", path])
    #expect(!verified.output.contains("wrong: "), "\(verified.output)")
  }

  @Test("the entries of a record that cannot be read are not reported as those of none")
  func entriesOfDamaged() throws {
    try damageRiver(6)
    let run = try ProgramRun(["verify", path])
    #expect(run.status == 3 && run.output.contains("wrong: River 6: it cannot be read"), "\(run.output)")
    #expect(!run.output.contains("too many"), "\(run.output)")
  }

  @Test("an index that cannot be built because of a damaged record names it, and is built when it is mended")
  func indexOfDamaged() throws {
    try damageRiver(6)
    let more = try folder.file("more.jsonl", #"{"id":61,"name":"River 61","km":1}"#)
    let words = ["import", path, "River", more, "--id", "id", "--index", "title=name"]
    let run = try ProgramRun(words)
    #expect(run.status == 1 && run.complaint.contains("6: damaged record at byte"), "\(run.complaint)")
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id":6,"name":"Mended","km":5}"#).status == 0)
    #expect(try ProgramRun(words).status == 0)
  }

  @Test("a condition is not refused because the first record cannot be read")
  func firstDamaged() throws {
    try damageRiver(1)
    let run = try ProgramRun(["delete", path, "River", "--where", "id == 60"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(try ProgramRun(["get", path, "River", "60"]).status == 1)
  }

  @Test("the history of a record lists the versions that can be read, and the one that cannot as such")
  func historyOfDamaged() throws {
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id": 6, "name": "Newer", "km": 1}"#).status == 0)
    let sound = try ProgramRun(["history", path, "River", "6"]).lines
    #expect(sound.count == 6)
    var data = try Data(contentsOf: URL(filePath: path + "/data"))
    let content = try #require(data.range(of: Data(#""name":"New 6""#.utf8), options: .backwards))
    data[content.upperBound - 2] ^= 1
    try data.write(to: URL(filePath: path + "/data"))
    let run = try ProgramRun(["history", path, "River", "6"])
    #expect(run.status == 3)
    #expect(run.complaint.contains("damaged record at byte"), "\(run.complaint)")
    #expect(run.lines.count == 6 && run.lines[3].contains("cannot be read: damaged record at byte"), "\(run.output)")
    #expect(run.lines.enumerated().allSatisfy { $0.offset == 3 || $0.element == sound[$0.offset] }, "\(run.output)")
    let json = try ProgramRun(["history", path, "River", "6", "--json"])
    #expect(json.objects.count == 3, "\(json.output)")
    #expect((json.objects[1]["problem"] as? String)?.contains("damaged record at byte") == true, "\(json.output)")
    #expect(json.objects[1]["deleted"] as? Bool == false)
    let field = try ProgramRun(["history", path, "River", "6", "--field", "km"])
    #expect(field.lines.count == 6 && field.lines[3].contains("cannot be read"), "\(field.output)")
  }
}
