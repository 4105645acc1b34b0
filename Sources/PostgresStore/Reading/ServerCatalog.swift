import StorageEngine

/// The trees of a store as they were at each of its commits, as far as this process has heard: small, and kept whole.
struct ServerCatalog: Sendable {
  /// One state of a tree's name, kind and attributes.
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
  /// What happened after this commit is not known.
  private(set) var upTo: UInt64 = 0

  static let columns = "t.tree, t.born, t.died, t.name, t.kind, t.attributes"

  /// What brings the catalog from the commit that it knows to the newest one. No tree is looked at where none has changed.
  func missing(_ tables: Tables) -> Statement {
    tables.statement(
      "catalog",
      """
      select \(Self.columns) from {store} s
        join {tree} t on t.born > $1 or (t.died > $1 and t.died < \(Tables.never)) or $1 = 0
      where s.one and s.trees > $1
      """, [.number(upTo)])
  }

  /// Takes what `missing` answered, which told of everything up to a commit.
  mutating func take(_ answer: Rows, upTo commit: UInt64) {
    for place in 0..<answer.count {
      guard let kind = TreeKind(rawValue: UInt8(truncatingIfNeeded: answer.int(place, 4))) else { continue }
      let row = Row(
        tree: Int32(truncatingIfNeeded: answer.int(place, 0)), born: answer.number(place, 1),
        died: answer.number(place, 2), name: TreeName(answer.bytes(place, 3) ?? []), kind: kind,
        attributes: answer.bytes(place, 5) ?? [])
      var known = rows[row.name] ?? []
      known.removeAll { $0.tree == row.tree && $0.born == row.born }
      known.append(row)
      rows[row.name] = known
    }
    upTo = max(upTo, commit)
  }

  /// Takes note that the last commit which changed a tree is one, of a state. Where it is not known, nothing is.
  mutating func take(changedAt commit: UInt64, of state: UInt64) {
    if commit <= upTo { upTo = max(upTo, state) }
  }

  func row(_ name: TreeName, at commit: UInt64) -> Row? { rows[name]?.first { $0.isAlive(at: commit) } }

  /// The tree that had a name last, whether it has it still.
  func latest(_ name: TreeName, upTo commit: UInt64) -> Row? {
    rows[name]?.filter { $0.born <= commit }.max { $0.born < $1.born }
  }

  /// All trees that have had a name up to a commit, one after the other.
  func trees(_ name: TreeName, upTo commit: UInt64) -> [Int32] {
    Array(Set((rows[name] ?? []).lazy.filter { $0.born <= commit }.map(\.tree)))
  }

  /// The commit that took a tree of a name out.
  func end(of tree: Int32, _ name: TreeName) -> UInt64? {
    rows[name]?.lazy.filter { $0.tree == tree }.map(\.died).max()
  }

  /// Trees whose names begin with `prefix`, in their order.
  func names(prefix: [UInt8], at commit: UInt64) -> [TreeName] {
    rows.filter { $0.key.hasPrefix(prefix) && $0.value.contains { $0.isAlive(at: commit) } }.keys.sorted()
  }
}
