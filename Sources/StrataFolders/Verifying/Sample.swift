package import StrataModel

/// The number of records that have something in common, and the first few of them.
package struct Sample: Hashable, Sendable {
  package private(set) var count = 0
  package private(set) var first: [StoredKey] = []

  private static let limit = 5

  package init() {}

  /// A number of records of which none is known.
  init(count: Int) { self.count = count }

  mutating func add(_ identifier: StoredKey) {
    count += 1
    if first.count < Self.limit { first.append(identifier) }
  }

  package var isEmpty: Bool { count == 0 }

  /// `3 (1, 2 and 7)`, `412 (1, 2, 7, 9, 12 …)`.
  package var text: String {
    let names = first.map(\.description).joined(separator: ", ")
    return "\(count) (\(names)\(count > first.count ? " …" : ""))"
  }
}
