package import StrataEngine

/// The engine's type, for callers that do not import the engine.
package typealias CommitRetention = Retention

extension Retention {
  /// Reads `all`, a number of commits, an age such as `90m`, `12h`, `30d`, `2w`, or one of each: `100 or 30d`, `100 and 30d`.
  package init(parsing text: String) throws(ModelError) {
    let words = text.split(separator: " ").map(String.init)
    let counts = words.compactMap { Int($0) }.filter { $0 > 0 }
    let ages = words.compactMap(Self.age)
    switch (words.count, counts.first, ages.first) {
    case (1, nil, nil) where text == "all": self = .all
    case (1, let count?, nil): self = .last(count)
    case (1, nil, let age?): self = .younger(age)
    case (3, let count?, let age?) where words[1] == "and": self = .both(last: count, younger: age)
    case (3, let count?, let age?) where words[1] == "or": self = .either(last: count, younger: age)
    default:
      throw .invalid(
        text: text, column: 1,
        reason: "“\(text)” is not all, a number of commits, an age as 30d, 12h or 2w, or both as in 100 or 30d")
    }
  }

  /// Reads an age, in nanoseconds.
  private static func age(_ text: String) -> Int64? {
    guard let unit = text.last.flatMap({ seconds[$0] }), let number = Int64(text.dropLast()),
      (1..<10_000).contains(number)
    else { return nil }
    return number * unit * 1_000_000_000
  }

  private static let seconds: [Character: Int64] = ["m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
}

/// The engine's type, for callers that do not import the engine: the result of rewriting a store, or an estimate of it.
package typealias RewriteReport = CompactionReport

extension CompactionReport {
  /// Commits that were squashed into the next kept one. More commits than before are kept if some came meanwhile.
  package var commitsSquashed: Int { max(0, commitsPruned) }
}
