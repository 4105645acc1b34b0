import PostgresStore
import Testing

extension TestServer {
  /// The URL of a schema that nobody else has.
  func url(
    _ schema: String = TestServer.newSchema(), user: String = "strata", folder: String? = nil, more: String = ""
  ) throws -> ServerURL {
    try ServerURL(parsing: location(schema, user: user, folder: folder, more: more))
  }

  /// An empty store of its own.
  static func store(program: String = "tests", patience: Double = 10) throws -> ServerStore {
    let server = try #require(shared)
    return try ServerStore.open(
      server.url(), creates: true, options: ServerOptions(program: program, author: "ada", patience: patience))
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
