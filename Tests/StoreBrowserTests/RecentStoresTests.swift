import FoundationEssentials
import Testing

@testable import StoreBrowser

@Suite("Stores opened lately")
struct RecentStoresTests {
  @Test("the newest is first, each once, and no more than are kept")
  func recent() throws {
    let folder = "/tmp/strata-recent-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let recent = try #require(RecentStores(environment: ["XDG_STATE_HOME": folder]))
    #expect(recent.paths == [])
    for number in 0..<30 { recent.add("/nowhere/\(number).strata") }
    recent.add("/nowhere/25.strata")
    #expect(recent.paths.count == RecentStores.limit)
    #expect(recent.paths.prefix(3) == ["/nowhere/25.strata", "/nowhere/29.strata", "/nowhere/28.strata"])
    #expect(RecentStores(environment: [:]) == nil)
  }
}
