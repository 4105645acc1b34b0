package import StorageEngine

/// One commit of a store on a server: who, when, why, on top of what. Its changes are read separately.
package struct ServerCommit: Hashable, Sendable {
  package var number: UInt64
  package var origin: UInt64
  package var originNumber: UInt64
  package var parents: [UInt64]
  /// Nanoseconds since 1970; never earlier than the parents'.
  package var date: Int64
  /// The clock of its writer: the date, unless that had to be a parent's later one.
  package var clock: Int64
  package var action: String
  package var program: String
  package var author: String
  package var flags: CommitFlags
  package var undoes: UInt64?
  package var restores: UInt64?
  /// Bytes of the keys and values that the commit wrote.
  package var bytes: UInt64
  /// What its parents do not tell of where it comes from.
  package var pedigree: Pedigree?

  package var identity: CommitIdentity { CommitIdentity(origin: origin, number: originNumber) }

  /// What stands before the first commit.
  static func beginning(_ date: Int64) -> ServerCommit {
    ServerCommit(
      number: 0, origin: 0, originNumber: 0, parents: [], date: date, clock: date, action: "", program: "", author: "",
      flags: [],
      bytes: 0)
  }

}

extension Tables {
  private var columnsOfCommit: [String] {
    let columns = [
      "number", "origin", "origin_number", "parents", "date", "action", "program", "author", "flags", "undoes",
      "restores",
      "bytes", "pedigree",
    ]
    return columns.map { "c.\($0)" } + [hasClocks ? "coalesce(c.clock, c.date)" : "c.date"]
  }

  /// A commit `c` as columns.
  var commitColumns: String { columnsOfCommit.joined(separator: ", ") }

  /// The same as one column of texts, for an answer of which it is seldom a part: each column costs its share whether it is null or not.
  var commitTexts: String { "array[" + columnsOfCommit.map { "\($0)::text" }.joined(separator: ", ") + "]" }
}

extension ServerCommit {
  init(_ rows: Rows, _ row: Int, at column: Int = 0) {
    self.init(
      number: rows.number(row, column), origin: rows.number(row, column + 1),
      originNumber: rows.number(row, column + 2),
      parents: rows.ints(row, column + 3).map { UInt64(bitPattern: $0) }, date: rows.int(row, column + 4),
      clock: rows.int(row, column + 13), action: rows.text(row, column + 5),
      program: rows.text(row, column + 6), author: rows.text(row, column + 7),
      flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: rows.int(row, column + 8))),
      undoes: rows.int(row, column + 9) == 0 ? nil : rows.number(row, column + 9),
      restores: rows.int(row, column + 10) == 0 ? nil : rows.number(row, column + 10),
      bytes: rows.number(row, column + 11),
      pedigree: Pedigree(text: rows.text(row, column + 12)))
  }
}

extension ServerCommit {
  /// One that came as texts; nil where it did not.
  init?(texts: [String]) {
    guard texts.count == 14 else { return nil }
    func number(_ place: Int) -> Int64 { Int64(texts[place]) ?? 0 }
    self.init(
      number: UInt64(bitPattern: number(0)), origin: UInt64(bitPattern: number(1)),
      originNumber: UInt64(bitPattern: number(2)),
      parents: texts[3].split { "{},".contains($0) }.compactMap { Int64($0).map { UInt64(bitPattern: $0) } },
      date: number(4), clock: number(13), action: texts[5], program: texts[6], author: texts[7],
      flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: number(8))),
      undoes: number(9) == 0 ? nil : UInt64(bitPattern: number(9)),
      restores: number(10) == 0 ? nil : UInt64(bitPattern: number(10)), bytes: UInt64(bitPattern: number(11)),
      pedigree: Pedigree(text: texts[12]))
  }
}

extension CommitRecord {
  /// Without its counts and names, which lie in tables of their own.
  init(_ commit: ServerCommit) {
    self.init(
      number: commit.number, identity: commit.identity, parents: commit.parents, date: commit.date,
      program: commit.program, author: commit.author, action: commit.action, flags: commit.flags,
      undoes: commit.undoes, restores: commit.restores, names: [], counts: [], bytes: commit.bytes)
  }
}

// A pedigree as one line of text: `parents 6f…:1 6f…:2;undoes 6f…:3;squashed 6f…:4-9 6f…:3`.

extension Pedigree {
  var text: String {
    var parts: [String] = []
    if let parents { parts.append((["parents"] + parents.map(Self.text)).joined(separator: " ")) }
    if let undoes { parts.append("undoes \(Self.text(undoes))") }
    for run in squashed {
      let first = CommitIdentity(origin: run.origin, number: run.numbers.lowerBound)
      parts.append(
        (["squashed", "\(Self.text(first))-\(run.numbers.upperBound)"] + run.parents.map(Self.text))
          .joined(separator: " "))
    }
    return parts.joined(separator: ";")
  }

  /// Nil where there is none, or what stands there is none.
  init?(text: String) {
    guard !text.isEmpty else { return nil }
    self.init()
    for part in text.split(separator: ";") {
      let words = part.split(separator: " ")
      switch words.first {
      case "parents": parents = words.dropFirst().compactMap(Self.identity)
      case "undoes": undoes = words.dropFirst().first.flatMap(Self.identity)
      case "squashed":
        guard words.count >= 2, let dash = words[1].lastIndex(of: "-"), let first = Self.identity(words[1][..<dash]),
          let last = UInt64(words[1][words[1].index(after: dash)...]), last >= first.number
        else { return nil }
        squashed.append(
          Run(origin: first.origin, numbers: first.number...last, parents: words.dropFirst(2).compactMap(Self.identity))
        )
      default: return nil
      }
    }
  }

  private static func text(_ identity: CommitIdentity) -> String {
    "\(String(identity.origin, radix: 16)):\(identity.number)"
  }

  private static func identity(_ text: Substring) -> CommitIdentity? {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let origin = UInt64(parts[0], radix: 16), let number = UInt64(parts[1]) else { return nil }
    return CommitIdentity(origin: origin, number: number)
  }
}
