import StrataLocks
import StrataEngine

/// The tables of one store, by their names in SQL.
///
/// Everything is in one schema, whose name is the only part of a statement that is not a parameter; it is quoted. The statements use only
/// what PostgreSQL, CockroachDB and YugabyteDB share: no advisory locks, no `ctid`, no triggers, every column of a key ascending.
struct Tables: Sendable {
  let schema: String
  /// A condition that is true, and limits how long the transaction waits for a row from then on: a statement of its own for that would be
  /// one more in each flush.
  let boundsWaiting: String
  /// Whether commits have the clock of their writer. A store that an earlier version made lacks the column until a user with the right to
  /// add it opens the store.
  var hasClocks = true
  /// The texts of named statements: to put one together takes as long as to run it.
  private let texts = Remembered<String, String>()

  /// - Parameter rowPatience: The seconds to wait for a row that another session holds.
  init(schema: String, rowPatience: Double) {
    self.schema = schema
    boundsWaiting = "set_config('lock_timeout', '\(Int(rowPatience * 1_000))ms', true) is not null"
  }

  var quotedSchema: String { Self.quoted(schema) }

  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  /// SQL in which each `{table}` is replaced by that table of the schema.
  func sql(_ text: String) -> String {
    var result = ""
    var rest = Substring(text)
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      result += rest[..<open]
      result += quotedSchema + "." + Self.quoted(String(rest[rest.index(after: open)..<close]))
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }

  /// A statement that is prepared under its name, which no other one has; its text is made once.
  func statement(_ name: String, _ text: @autoclosure () -> String, _ parameters: [SQLValue]) -> Statement {
    let known = texts[name]
    var statement = Statement(known ?? sql(text()), name: name)
    if known == nil { texts[name] = statement.sql }
    statement.parameters = parameters
    return statement
  }

  /// A statement that is used so seldom that it is not prepared.
  func statement(_ text: String, _ parameters: [SQLValue] = []) -> Statement {
    var statement = Statement(sql(text))
    statement.parameters = parameters
    return statement
  }

  /// The last column or value of a commit, its writer's clock, if commits have one.
  func clock(_ value: String) -> String { hasClocks ? ", \(value)" : "" }

  func lockTimeout(seconds: Int) -> Statement { Statement("set local lock_timeout = '\(seconds)s'") }

  /// A key in a condition that no index is to serve: the changes since a commit are found by time, and only then by key. The server cannot
  /// know that they are few, and would walk the whole range.
  static func unindexed(_ alias: String) -> String { "(\(alias).key || ''::bytea)" }

  /// The tables whose names say that a schema is a store's.
  static let names = ["change", "commit", "current", "history", "lease", "name", "store", "token", "tree", "value"]

  /// The statements that make the tables of an empty store.
  ///
  /// `trees` of the store is the newest commit that changed a tree itself: a client that knows the trees up to there need not ask for them.
  ///
  /// An entry is alive at commit *n* if `born <= n` and it lies in `current`, or if `born <= n and n < died` in `history`. `inserted` is
  /// the commit at which its key came to life, and it stays when the entry is updated. So an update in place touches no index, and entries
  /// inserted since a commit are found all the same. It is 0 for an entry that came with its tree. Then it is in no index: no state that
  /// has the tree is older. `written` is the commit that wrote the value, older than `born` if a restore brought it back. `kind` says what
  /// the entry holds: 0 nothing, 1 bytes (in `payload`, or beyond 2 kB in `value`), 2 a reference to the record of the same key's end, as
  /// commit `written` wrote it.
  ///
  /// `clock` of a commit is its writer's. It is null if the program that wrote the commit did not know the column yet; then it is the date.
  static let definitions = [
    """
    create table {store} (
      one boolean primary key default true check (one), magic text not null, format integer not null,
      features bigint not null, identity bytea not null, origin bigint not null, created bigint not null,
      newest bigint not null, head bigint not null, parent bigint not null, oldest bigint not null,
      trees bigint not null, next_tree integer not null)
    """,
    """
    create table {commit} (
      number bigint primary key, origin bigint not null, origin_number bigint not null, parents bigint[] not null,
      date bigint not null, action text not null, program text not null, author text not null,
      flags integer not null, undoes bigint not null, restores bigint not null, bytes bigint not null, pedigree text not null,
      clock bigint, unique (origin, origin_number))
    """,
    """
    create table {change} (
      number bigint, tree integer, inserted bigint not null, updated bigint not null, deleted bigint not null,
      primary key (number, tree))
    """,
    """
    create table {tree} (
      tree integer, born bigint, died bigint not null, name bytea not null, kind smallint not null,
      attributes bytea not null, primary key (tree, born), unique (name, died))
    """,
    "create table {name} (name text, born bigint, died bigint not null, number bigint not null, primary key (name, born))",
    """
    create table {current} (
      tree integer, key bytea, born bigint not null, inserted bigint not null, written bigint not null,
      kind smallint not null, payload bytea, value bigint, primary key (tree, key)) with (fillfactor = 90)
    """,
    "create index current_inserted on {current} (tree, inserted) where inserted > 0",
    """
    create table {history} (
      tree integer, key bytea, born bigint, died bigint not null, inserted bigint not null, written bigint not null,
      kind smallint not null, payload bytea, value bigint, primary key (tree, key, born))
    """,
    "create index history_died on {history} (tree, died)",
    "create index history_inserted on {history} (tree, inserted) where born = inserted",
    "create table {value} (number bigint primary key, bytes bytea not null)",
    "create table {token} (token bytea primary key, number bigint, count integer not null, at timestamptz not null)",
    """
    create table {lease} (
      what text primary key, holder bytea not null, program text not null, since timestamptz not null,
      heartbeat timestamptz not null, progress bytea not null)
    """,
  ]

  /// Entries of `current` that were inserted after a commit, as a condition for which the server finds the index.
  static func isInserted(_ alias: String, after commit: String) -> String {
    "\(alias).inserted > 0 and \(alias).inserted > \(commit)"
  }

  /// Whether the state of a commit is kept, as a condition: it is the oldest or a later one, or the commit has a name.
  static func isKept(_ number: String, oldest: String) -> String {
    "(\(number) >= \(oldest) or exists (select 1 from {name} k where k.number = \(number) and k.died = \(never)))"
  }

  /// The death of an entry that is alive.
  static let never = Int64.max
}

/// Values that need not be asked for or made again, for several threads.
final class Remembered<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let values = Mutex<[Key: Value]>([:])

  subscript(key: Key) -> Value? {
    get { values.withLock { $0[key] } }
    set {
      values.withLock { values in
        if values.count > 100_000 { values.removeAll() }
        values[key] = newValue
      }
    }
  }

  func forget() { values.withLock { $0.removeAll() } }
}

/// The limits of a server's store; longer things are refused before anything is sent.
package enum ServerLimits {
  /// Bytes of a key.
  package static let key = Limits.servedKey
  /// Bytes of a value.
  package static let value = 1 << 29
  /// Bytes of a payload that lies in its row; longer ones lie in a table of their own and are never copied.
  package static let inlinePayload = 2_000
}
