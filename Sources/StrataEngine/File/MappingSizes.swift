/// How much of a file a process maps. A mapping takes memory only for the pages that are read, but addresses for all of them.
struct MappingSizes: Sendable {
  /// The sizes to reserve when a file is opened, in this order until the system grants one. A larger file is mapped to twice its size.
  var first: [Int]
  /// No mapping has more bytes; those behind them are read by calls.
  var most: Int

  static let platform: MappingSizes = {
    #if os(macOS) || os(Linux)
      // Addresses cost nothing where there are enough of them, so a file is hardly ever mapped again.
      MappingSizes(first: [1 << 36, 1 << 28], most: .max)
    #elseif os(watchOS)
      MappingSizes(first: [1 << 28], most: 1 << 28)
    #else
      // An app has some three gibibytes of addresses, and an extension little memory. A new mapping keeps the old ones,
      // which together have as many bytes as the last at most.
      MappingSizes(first: [1 << 27], most: isAppExtension() ? 1 << 29 : 1 << 30)
    #endif
  }()

  /// The sizes to reserve for a file of a length, in turn.
  func capacities(for size: UInt64) -> [Int] {
    first.map { min(most, max($0, Int(clamping: size).multipliedClamped(by: 2))) }
  }

  /// How much is asked for when the file has outgrown a mapping; nil if that is not to be.
  func larger(than mapped: Int, for size: UInt64) -> Int? {
    let wanted = min(most, Int(clamping: size).multipliedClamped(by: 2))
    return wanted > mapped ? wanted : nil
  }
}
