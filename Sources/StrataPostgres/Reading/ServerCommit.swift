package import StrataEngine

/// One commit of a store on a server, with the facts that its record lacks. Its changes are read separately.
@dynamicMemberLookup
package struct ServerCommit: Hashable, Sendable {
  /// Without its counts and names, which lie in tables of their own.
  package var record: CommitRecord
  /// The clock of its writer: the date, unless that had to be a parent's later one.
  package var clock: Int64
  /// The ancestry of the commit that its parents do not give.
  package var pedigree: Pedigree?

  package subscript<Value>(dynamicMember member: KeyPath<CommitRecord, Value>) -> Value { record[keyPath: member] }

  /// The empty state before the first commit.
  static func beginning(_ date: Int64) -> ServerCommit {
    ServerCommit(
      record: CommitRecord(
        number: 0, identity: CommitIdentity(origin: 0, number: 0), parents: [], date: date, program: "", author: "",
        action: ""), clock: date)
  }
}

extension Tables {
  /// Without the writer's clock, which not every store has.
  private static let columnsOfCommit = [
    "number", "origin", "origin_number", "parents", "date", "action", "program", "author", "flags", "undoes",
    "restores", "bytes", "pedigree",
  ]

  private var columnsOfCommit: [String] {
    Self.columnsOfCommit.map { "c.\($0)" } + [hasClocks ? "coalesce(c.clock, c.date)" : "c.date"]
  }

  /// A commit `c` as columns.
  var commitColumns: String { columnsOfCommit.joined(separator: ", ") }

  /// The same as one column of texts, for an answer that seldom has one: each column has its cost whether it is null or not.
  var commitTexts: String { "array[" + columnsOfCommit.map { "\($0)::text" }.joined(separator: ", ") + "]" }

  /// Writes a commit that was made elsewhere.
  func insert(_ commit: ServerCommit) throws(StorageError) -> Statement {
    let columns = Self.columnsOfCommit + (hasClocks ? ["clock"] : [])
    return statement(
      "copyCommit",
      """
      insert into {commit} (\(columns.joined(separator: ", ")))
      values (\(columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))
      """,
      [
        .number(commit.number), .number(commit.origin), .number(commit.originNumber), .numbers(commit.parents),
        .int(commit.date), .text(try Flush.text(commit.action, "action")),
        .text(try Flush.text(commit.program, "program")), .text(try Flush.text(commit.author, "author")),
        .int32(Int32(bitPattern: commit.flags.rawValue)), .number(commit.undoes ?? 0), .number(commit.restores ?? 0),
        .number(commit.frameBytes), .text(commit.pedigree?.text ?? ""), .int(commit.clock),
      ])
  }
}

extension Rows {
  /// The commits of an answer whose columns are `commitColumns`.
  func commits() throws(StorageError) -> [ServerCommit] {
    try map { row throws(StorageError) in try ServerCommit(self, row) }
  }
}

extension ServerCommit {
  fileprivate init(_ rows: Rows, _ row: Int) throws(StorageError) {
    try self.init(parents: rows.numbers(row, 3), int: { rows.int(row, $0) }, text: { rows.text(row, $0) })
  }

  /// A commit from texts; nil if there are none.
  init?(texts: [String]) throws(StorageError) {
    guard texts.count == 14 else { return nil }
    let parents = texts[3].split { "{},".contains($0) }.compactMap { Int64($0) }
    try self.init(
      parents: parents.map { parent throws(StorageError) in try Rows.number(parent) },
      int: { Int64(texts[$0]) ?? 0 }, text: { texts[$0] })
  }

  /// - Parameter int: Returns the number in a column, as `text` returns its text.
  private init(parents: [UInt64], int: (Int) -> Int64, text: (Int) -> String) throws(StorageError) {
    func number(_ column: Int) throws(StorageError) -> UInt64 { try Rows.number(int(column)) }
    let identity = try CommitIdentity(origin: UInt64(bitPattern: int(1)), number: number(2))
    try self.init(
      record: CommitRecord(
        number: number(0), identity: identity, parents: parents,
        date: int(4), program: text(6), author: text(7), action: text(5),
        flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: int(8))), undoes: int(9) == 0 ? nil : number(9),
        restores: int(10) == 0 ? nil : number(10), bytes: number(11)),
      clock: int(13), pedigree: Pedigree(text: text(12)))
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

  /// Returns nil if there is no pedigree, or if the text is not one.
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
