import Foundation
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Warming up by a verb") struct WarmVerbTests {
  /// A store of 300 cities with two indexes that are marked stale, as a merge leaves them; `closed` has no declared rule.
  private func store(_ folder: TemporaryFolder) throws -> String {
    let (file, path) = (folder.path("cities.jsonl"), folder.path("Cities.strata"))
    let rows = (1...300).map {
      #"{"id":\#($0),"name":"City \#($0 * 7 % 300)","population":\#($0),"group":"g\#($0 % 6)"}"#
    }
    try Data(rows.joined(separator: "\n").utf8).write(to: URL(filePath: file))
    let run = try ProgramRun([
      "import", path, "City", file, "--id", "id", "--index", "name=name", "--index", "size=population",
    ])
    #expect(run.status == 0, "\(run.complaint)")
    let store = try EngineStore.open(path: path)
    _ = try store.transact(CommitInfo(action: "mark stale")) { transaction throws(ModelError) in
      var descriptor = try store.baseView(of: transaction).requiredDatastore("City").descriptor
      for position in descriptor.indexes.indices where descriptor.indexes[position].name == "size" {
        descriptor.indexes[position].isStale = true
      }
      var closed = IndexDescriptor(name: "closed", kind: .oneToMany, encoding: .string, valueType: "String")
      closed.isStale = true
      descriptor.setIndex("closed", to: closed)
      try DatastoreWriter.createIndex(closed, of: descriptor, in: transaction)
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    try store.engine.close()
    return path
  }

  @Test(
    "stale indexes with a declared rule are rebuilt, and one without is said to need the app; piped, each line is JSON")
  func warm() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let run = try ProgramRun(["warm", path])
    #expect(run.status == 1, "\(run.complaint)")
    let states = run.objects.map { "\($0["index"] ?? "") \($0["state"] ?? "")" }
    #expect(states.contains("size complete") && states.contains("closed needs the app"), "\(run.output)")
    #expect(states.contains("size building"), "\(run.output)")
    #expect(run.objects.first { $0["state"] as? String == "complete" }?["entries"] as? Int == 300)
    let sizes = try ProgramRun(["records", path, "City", "--index", "size", "--json"])
    #expect(sizes.objects.compactMap { $0["id"] as? Int } == Array(1...300), "\(sizes.complaint)")
    let info = try ProgramRun(["info", path])
    #expect(info.output.contains("stale"), "the other stays so")
    #expect(try ProgramRun(["warm", path, "Nothing"]).status == 1)
  }

  @Test("an index that would have a value twice fails with the reason, and the others are rebuilt all the same")
  func repeatingValues() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let store = try EngineStore.open(path: path)
    _ = try store.transact(CommitInfo(action: "mark stale")) { transaction throws(ModelError) in
      var descriptor = try store.baseView(of: transaction).requiredDatastore("City").descriptor
      var groups = IndexDescriptor(
        name: "groups", kind: .oneToOne, encoding: .string, valueType: "String", rule: ".group", isUnique: true)
      groups.isStale = true
      descriptor.setIndex("groups", to: groups)
      descriptor.indexes.sort { $0.name < $1.name }
      try DatastoreWriter.createIndex(groups, of: descriptor, in: transaction)
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    try store.engine.close()
    let run = try ProgramRun(["warm", path])
    #expect(run.status == 1 && run.complaint.isEmpty, "\(run.complaint)")
    let failed = try #require(run.objects.first { $0["state"] as? String == "failed" }, "\(run.output)")
    #expect(failed["index"] as? String == "groups")
    let reason = try #require(failed["reason"] as? String)
    #expect(reason.hasPrefix("City: groups \"g0\" would belong to 6 and 12 and 18 and 24 and others; "), "\(reason)")
    #expect(reason.hasSuffix("; and more"), "six values, of which four are named: \(reason)")
    let complete = run.objects.filter { $0["state"] as? String == "complete" }.map { $0["index"] as? String }
    #expect(complete == ["size"], "\(run.output)")
  }

  @Test("a store without stale indexes has nothing to do")
  func idle() throws {
    let folder = try TemporaryFolder()
    let file = folder.path("cities.csv")
    try Data("id,name\n1,Bern\n2,Kobe\n".utf8).write(to: URL(filePath: file))
    let path = folder.path("Cities.strata")
    #expect(try ProgramRun(["import", path, "City", file, "--id", "id", "--index", "byName=name"]).status == 0)
    let run = try ProgramRun(["warm", path])
    #expect(run.status == 0 && run.output.contains("nothing to do"), "\(run.output)")
  }
}
