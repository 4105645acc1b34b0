import StrataEngine

/// The trees of a store as they were at each of its commits, as far as this process knows them: small, and kept whole.
struct ServerCatalog: Sendable {
  struct Row: Sendable, Hashable {
    var tree: Int32
    var born: UInt64
    var died: UInt64
    var name: TreeName
    var kind: TreeKind
    var attributes: [UInt8]

    func isAlive(at commit: UInt64) -> Bool { born <= commit && commit < died }
  }

  private var rows: [TreeName: [Row]] = [:]
  /// The catalog is complete up to this commit.
  private(set) var upTo: UInt64 = 0

  static let columns = "t.tree, t.born, t.died, t.name, t.kind, t.attributes"

  /// A query for the changes from the commit that the catalog knows to the newest one. It reads no tree if none has changed.
  func missing(_ tables: Tables) -> Statement {
    tables.statement(
      "catalog",
      """
      select \(Self.columns) from {store} s
        join {tree} t on t.born > $1 or (t.died > $1 and t.died < \(Tables.never)) or $1 = 0
      where s.one and s.trees > $1
      """, [.number(upTo)])
  }

  /// Takes the answer to `missing`, which has all changes up to a commit.
  mutating func update(_ answer: Rows, upTo commit: UInt64) throws(StorageError) {
    for place in 0..<answer.count {
      guard let kind = TreeKind(rawValue: UInt8(truncatingIfNeeded: answer.int(place, 4))) else { continue }
      let row = try Row(
        tree: answer.tree(place, 0), born: answer.number(place, 1), died: answer.end(place, 2),
        name: TreeName(answer.bytes(place, 3) ?? []), kind: kind,
        attributes: answer.bytes(place, 5) ?? [])
      var known = rows[row.name] ?? []
      known.removeAll { $0.tree == row.tree && $0.born == row.born }
      known.append(row)
      rows[row.name] = known
    }
    upTo = max(upTo, commit)
  }

  /// Notes the last commit that changed a tree, as of a state. If the catalog has it, the catalog is complete up to that state.
  mutating func update(changedAt commit: UInt64, of state: UInt64) {
    if commit <= upTo { upTo = max(upTo, state) }
  }

  func row(_ name: TreeName, at commit: UInt64) -> Row? { rows[name]?.first { $0.isAlive(at: commit) } }

  /// All trees that have had a name up to a commit, newest first.
  func trees(_ name: TreeName, upTo commit: UInt64) -> [Int32] {
    let rows = (rows[name] ?? []).filter { $0.born <= commit }.sorted { $0.born > $1.born }
    return rows.reduce(into: []) { if !$0.contains($1.tree) { $0.append($1.tree) } }
  }

  func names(prefix: [UInt8], at commit: UInt64) -> [TreeName] {
    rows.filter { $0.key.hasPrefix(prefix) && $0.value.contains { $0.isAlive(at: commit) } }.keys.sorted()
  }
}
