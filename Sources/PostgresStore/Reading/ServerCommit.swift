package import StorageEngine

/// One commit of a store on a server, and what its record does not tell. Its changes are read separately.
@dynamicMemberLookup
package struct ServerCommit: Hashable, Sendable {
  /// Without its counts and names, which lie in tables of their own.
  package var record: CommitRecord
  /// The clock of its writer: the date, unless that had to be a parent's later one.
  package var clock: Int64
  /// What its parents do not tell of where it comes from.
  package var pedigree: Pedigree?

  package subscript<Value>(dynamicMember member: KeyPath<CommitRecord, Value>) -> Value { record[keyPath: member] }

  /// What stands before the first commit.
  static func beginning(_ date: Int64) -> ServerCommit {
    ServerCommit(
      record: CommitRecord(
        number: 0, identity: CommitIdentity(origin: 0, number: 0), parents: [], date: date, program: "", author: "",
        action: "", flags: [], undoes: nil, restores: nil, names: [], counts: [], bytes: 0), clock: date)
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
  init(_ rows: Rows, _ row: Int) {
    self.init(
      record: CommitRecord(
        number: rows.number(row, 0), identity: CommitIdentity(origin: rows.number(row, 1), number: rows.number(row, 2)),
        parents: rows.ints(row, 3).map { UInt64(bitPattern: $0) }, date: rows.int(row, 4), program: rows.text(row, 6),
        author: rows.text(row, 7), action: rows.text(row, 5),
        flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: rows.int(row, 8))),
        undoes: rows.int(row, 9) == 0 ? nil : rows.number(row, 9),
        restores: rows.int(row, 10) == 0 ? nil : rows.number(row, 10), names: [], counts: [],
        bytes: rows.number(row, 11)), clock: rows.int(row, 13), pedigree: Pedigree(text: rows.text(row, 12)))
  }

  /// One that came as texts; nil where it did not.
  init?(texts: [String]) {
    guard texts.count == 14 else { return nil }
    func int(_ place: Int) -> Int64 { Int64(texts[place]) ?? 0 }
    func number(_ place: Int) -> UInt64 { UInt64(bitPattern: int(place)) }
    self.init(
      record: CommitRecord(
        number: number(0), identity: CommitIdentity(origin: number(1), number: number(2)),
        parents: texts[3].split { "{},".contains($0) }.compactMap { Int64($0).map { UInt64(bitPattern: $0) } },
        date: int(4), program: texts[6], author: texts[7], action: texts[5],
        flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: int(8))), undoes: int(9) == 0 ? nil : number(9),
        restores: int(10) == 0 ? nil : number(10), names: [], counts: [], bytes: number(11)),
      clock: int(13), pedigree: Pedigree(text: texts[12]))
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
