@testable import StrataPostgres
import StrataEngine
import Testing

extension TestServer {
  /// The URL of a schema that nobody else has.
  func url(
    _ schema: String = TestServer.newSchema(), user: String = "strata", folder: String? = nil, more: String = ""
  ) throws -> ServerURL {
    try ServerURL(parsing: location(schema, user: user, folder: folder, more: more))
  }

  /// An empty store of its own.
  static func store(
    program: String = "tests", patience: Double = 10, rowPatience: Double = 30,
    record: @escaping ServerStore.RecordOfEntry = { _, _ in nil }
  ) throws -> ServerStore {
    let server = try #require(shared)
    return try ServerStore.open(
      server.url(), creates: true,
      options: ServerOptions(program: program, author: "ada", patience: patience, rowPatience: rowPatience),
      record: record)
  }
}

/// Numbers that come again with their seed.
struct Dice {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func roll(_ sides: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int((state >> 11) % UInt64(sides))
  }
}

extension [UInt8] {
  /// The key of a small number, in its order.
  static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
}

extension ServerStore {
  /// Makes a change and commits it; where others changed what it read, it is made again.
  func change(
    _ info: CommitInfo = CommitInfo(), _ body: (ServerTransaction) throws(StorageError) -> Void
  ) throws(StorageError) {
    let written = try write(info) { transaction throws(StorageError) in
      if let transaction = transaction as? ServerTransaction { try body(transaction) }
    }
    _ = try written.get()
  }
}

extension ServerTransaction {
  // What a transaction reads and writes without a look at what is there.

  func set(_ key: [UInt8], _ value: [UInt8], in name: TreeName) throws(StorageError) {
    try set(key, to: .bytes(value), in: name, kind: .records)
  }

  func look(for key: [UInt8], in name: TreeName) throws(StorageError) -> ServerEntry? {
    try served(name)?.look(for: key)
  }

  func page(
    _ range: KeyRange = KeyRange(), limit: Int, isReversed: Bool = false, in name: TreeName
  ) throws(StorageError) -> [ServerEntry] {
    try served(name)?.entries(range, limit: limit, isReversed: isReversed) ?? []
  }

  func count(in name: TreeName) throws(StorageError) -> UInt64 { try served(name)?.count ?? 0 }

  func rank(of key: [UInt8], in name: TreeName) throws(StorageError) -> UInt64 { try served(name)?.rank(of: key) ?? 0 }
}
