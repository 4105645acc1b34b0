import Testing

@testable import StorageEngine

@Suite("A store's own policy")
struct RetentionTests {
  private let disk = MemoryDisk()

  /// The generation after a store was written and closed: so many commits, each with so many new bytes under one key of many.
  private func generation(_ retention: Retention, commits: Int, keys: Int) throws -> UInt64 {
    let store = try Store.create(at: "kept", options: StoreOptions(retention: retention), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<commits {
      try store.change { try $0.put(key(number % keys), [UInt8](repeating: 1, count: 200_000), in: people) }
    }
    try store.close()
    return try Store.open(at: "kept", options: StoreOptions(), disk: disk).identity.generation
  }

  @Test("it makes room where more is dead than alive")
  func pays() throws { #expect(try generation(.last(2), commits: 20, keys: 1) == 2) }

  @Test("it does nothing where no commit would go, however much is dead")
  func keepsAll() throws { #expect(try generation(.last(100), commits: 20, keys: 1) == 1) }

  @Test("it does nothing where more is alive than dead, nor for a little")
  func littleDead() throws {
    #expect(try generation(.last(2), commits: 30, keys: 20) == 1)
  }

  @Test("nor for less than a MiB")
  func little() throws { #expect(try generation(.last(1), commits: 5, keys: 1) == 1) }
}
