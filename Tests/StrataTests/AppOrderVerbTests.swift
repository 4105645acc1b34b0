import CodableDatastore
import Foundation
import Testing

/// Where only the app knows the order of the identifiers, nobody else can look a record up by one; the verbs answer all the same.
@Suite("Verbs on identifiers that only the app can order")
struct AppOrderVerbTests {
  struct Grade: Codable, Hashable, Comparable, DiscreteIndexable, RangedIndexable {
    static let names = ["poor", "fair", "good", "best"]
    var name: String
    var number: Int
    private var rank: Int { Self.names.firstIndex(of: name) ?? 0 }
    static func < (left: Self, right: Self) -> Bool { (left.rank, left.number) < (right.rank, right.number) }
  }

  struct Sheet: Codable, Hashable, Identifiable, Sendable {
    var id: Grade
    var points: Int
  }

  struct SheetFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Sheet
    static let defaultKey: DatastoreKey = "Sheets"
    static let currentVersion = Version.one
    let points = Index(\.points)
  }

  private let folder: TemporaryFolder
  private let sheets = (0..<40).map { Sheet(id: Grade(name: Grade.names[$0 % 4], number: $0), points: $0 * 7 % 40) }

  init() throws { folder = try TemporaryFolder() }

  @Test("a condition is answered by reading all, in the app's order, sorted and in pages too")
  func answers() async throws {
    let path = folder.path("Sheets.strata")
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: path))
    try await persistence.datastore(SheetFormat.self).persist(contentsOf: sheets)
    try await persistence.close()
    let ordered = sheets.sorted { $0.id < $1.id }
    func points(_ words: String...) throws -> [Int] {
      let run = try ProgramRun(["records", path, "Sheets", "--json"] + words)
      #expect(run.status == 0, "\(run.complaint)")
      return run.objects.compactMap { ($0["value"] as? [String: Any] ?? $0)["points"] as? Int }
    }
    let large = ordered.map(\.points).filter { $0 > 20 }
    #expect(try points("--where", "points > 20") == large)
    let page = try points("--where", "points > 20", "--limit", "5", "--offset", "3")
    #expect(page == Array(large.dropFirst(3).prefix(5)))
    #expect(try points("--where", "points > 20", "--sort", "points:desc") == large.sorted(by: >))
    #expect(try points("--sort", "id.name") == ordered.sorted { $0.id.name < $1.id.name }.map(\.points))
    let plan = try ProgramRun(["records", path, "Sheets", "--where", "points > 20", "--explain"]).lines
    #expect(plan == ["SCAN 40 records · KEEP points > 20 · SORT no"])
    let counted = try ProgramRun(["records", path, "Sheets", "--where", "points > 20", "--count"]).lines
    #expect(counted == ["\(large.count)"])
    let first = try ProgramRun(["records", path, "Sheets", "--where", "points > 20", "--limit", "4", "--json"])
    let cursor = try #require(first.complaint.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) })
    #expect(try points("--where", "points > 20", "--after", cursor) == Array(large.dropFirst(4)))
  }
}
