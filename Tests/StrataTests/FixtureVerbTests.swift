import Foundation
import Testing

/// Stores that the original library wrote, and what a reader must find in them; nil where this machine has none.
struct Fixture: Sendable, CustomTestStringConvertible {
  let name: String
  let archive: URL
  let expectation: URL
  var testDescription: String { name }

  static let all: [Fixture] = {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let shared =
      ProcessInfo.processInfo.environment["STRATA_SHARED"].map { URL(filePath: $0) }
      ?? checkout.deletingLastPathComponent().appending(path: "shared")
    let folder = shared.appending(path: "fixtures")
    let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return files.filter { $0.lastPathComponent.hasSuffix(".tar.gz") }.map { archive in
      let name = String(archive.lastPathComponent.dropLast(7))
      return Fixture(name: name, archive: archive, expectation: folder.appending(path: "\(name).expected.json"))
    }.sorted { $0.name < $1.name }
  }()

  /// Unpacks the store into a folder and answers its path.
  func unpack(into folder: TemporaryFolder) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["tar", "xzf", archive.path, "-C", folder.url.path]
    try process.run()
    process.waitUntilExit()
    return folder.path("\(name).persistencestore")
  }

  func expected() throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(contentsOf: expectation)) as? [String: Any])
  }
}

@Suite(
  "Verbs on folders of the original library", .enabled(if: !Fixture.all.isEmpty, "there is no ../shared/fixtures here"))
struct FixtureVerbTests {
  @Test("records, info and every index are what the original library reads", arguments: Fixture.all)
  func contents(fixture: Fixture) throws {
    let folder = try TemporaryFolder()
    let path = try fixture.unpack(into: folder)
    let datastores = try #require(try fixture.expected()["datastores"] as? [[String: Any]])

    let info = try ProgramRun(["info", path, "--json"])
    #expect(info.status == 0)
    let summaries = try #require(info.objects.first?["datastores"] as? [[String: Any]])
    #expect(Set(summaries.compactMap { $0["key"] as? String }) == Set(datastores.compactMap { $0["key"] as? String }))

    for datastore in datastores {
      let key = try #require(datastore["key"] as? String)
      guard let records = datastore["records"] as? [[String: Any]] else { continue }
      let run = try ProgramRun(["records", path, key, "--json"])
      #expect(run.status == 0, "\(run.complaint)")
      #expect(try canonical(run.objects.map { $0["id"] as Any }) == canonical(records.map { $0["id"] as Any }))
      #expect(
        try canonical(run.objects.map { $0["version"] as Any }) == canonical(records.map { $0["version"] as Any }))
      for index in datastore["indexes"] as? [[String: Any]] ?? [] {
        let name = try #require(index["name"] as? String)
        let entries = try #require(index["entries"] as? [[String: Any]])
        let along = try ProgramRun(["records", path, key, "--index", name, "--json"])
        #expect(
          try canonical(along.objects.map { $0["id"] as Any }) == canonical(entries.map { $0["id"] as Any }),
          "\(key) \(name)")
      }
      for query in datastore["queries"] as? [[String: Any]] ?? [] {
        let run = try ProgramRun(["records", path, key, "--json"] + options(of: query))
        #expect(run.status == 0, "\(run.complaint)")
        #expect(
          try canonical(run.objects.map { $0["id"] as Any }) == canonical(query["ids"] as Any), "\(key) \(query)")
      }
    }
  }

  /// The options that ask for a range of the expected file.
  @Test("a verb that reads an older commit, because the newest one cannot be read, says so and ends with status 3")
  func olderCommit() throws {
    let folder = try TemporaryFolder()
    let path = try #require(Fixture.all.first { $0.name == "books" }).unpack(into: folder)
    let whole = try ProgramRun(["records", path, "BooksStore"])
    #expect(whole.status == 0 && whole.complaint.isEmpty)
    let files = try FileManager.default.subpathsOfDirectory(atPath: path)
    let newest = try #require(files.filter { $0.contains("/Iterations/") && $0.hasSuffix(".json") }.max())
    try FileManager.default.removeItem(atPath: "\(path)/\(newest)")
    for verb in [["info", path], ["records", path, "BooksStore"], ["history", path], ["export", path]] {
      let run = try ProgramRun(verb)
      #expect(run.status == 3 && run.complaint.contains("\(newest): the file is missing"), "\(verb): \(run.complaint)")
      #expect(run.complaint.contains("shown is the newest commit that can be read"))
    }
    let report = try ProgramRun(["convert", path, folder.path("New.strata")]).output
    #expect(report.split(separator: "\n").contains { $0.hasPrefix("left out: ") && $0.contains(newest) }, "\(report)")
  }

  private func options(of query: [String: Any]) throws -> [String] {
    var options: [String] = []
    if let index = query["index"] as? String { options += ["--index", index] }
    func bound(_ side: String, inclusive: String, exclusive: String) throws {
      guard let value = query[side], (value as? [String: Any])?["extent"] == nil else { return }
      options += [query["\(side)Inclusive"] as? Bool == true ? inclusive : exclusive, try canonical(value)]
    }
    try bound("lower", inclusive: "--from", exclusive: "--above")
    try bound("upper", inclusive: "--through", exclusive: "--below")
    if query["order"] as? String == "descending" { options.append("--descending") }
    return options
  }

  @Test("who reads along an index that conversion left to the app is told that it is stale", arguments: Fixture.all)
  func converted(fixture: Fixture) throws {
    let folder = try TemporaryFolder()
    let path = try fixture.unpack(into: folder)
    let newPath = folder.path("Converted.strata")
    #expect(try ProgramRun(["convert", path, newPath]).status == 0)
    #expect(try ProgramRun(["verify", newPath]).status == 0)
    let info = try ProgramRun(["info", newPath, "--json"])
    for datastore in try #require(info.objects.first?["datastores"] as? [[String: Any]]) {
      let key = try #require(datastore["key"] as? String)
      for index in datastore["indexes"] as? [[String: Any]] ?? [] {
        let name = try #require(index["name"] as? String)
        let run = try ProgramRun(["records", newPath, key, "--index", name])
        #expect(run.status == 0)
        #expect(
          run.complaint.contains("index \(name) is stale") == (index["stale"] as? Bool == true), "\(run.complaint)")
      }
    }
  }

  @Test("conversion says as many commits as info counts, in the folder and in the new store", arguments: Fixture.all)
  func commits(fixture: Fixture) throws {
    let folder = try TemporaryFolder()
    let path = try fixture.unpack(into: folder)
    let newPath = folder.path("Converted.strata")
    let converted = try ProgramRun(["convert", path, newPath, "--json"])
    let said = try #require(converted.objects.first?["commits"] as? Int)
    for store in [path, newPath] {
      let info = try ProgramRun(["info", store, "--json"])
      #expect(info.objects.first?["commits"] as? Int == said, "\(store)")
    }
  }

  @Test("the history has every iteration but the registrations", arguments: Fixture.all)
  func history(fixture: Fixture) throws {
    let folder = try TemporaryFolder()
    let path = try fixture.unpack(into: folder)
    let iterations = try #require(try fixture.expected()["history"] as? [[String: Any]])
    let kept = iterations.filter { $0["registrationOnly"] as? Bool != true }.reversed()
    let run = try ProgramRun(["history", path, "--json"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(run.objects.map { $0["action"] as? String } == kept.map { $0["actionName"] as? String ?? "" })
    #expect(run.objects.map { $0["date"] as? String } == kept.map { $0["creationDate"] as? String })
  }
}

/// JSON with its keys sorted, so that equal values are equal texts.
private func canonical(_ value: Any) throws -> String {
  String(
    decoding: try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed]),
    as: UTF8.self)
}
