package import StrataEngine

/// The content of a schema, and the rights of the role there.
struct SchemaSurvey {
  var exists = false
  var tables: Set<String> = []
  var mayRead = false
  var mayWrite = false
  var isReadOnlyServer = false
  /// Whether commits have a column for the clock of their writer.
  var hasClocks = false

  var isStore: Bool { Set(Tables.names).isSubset(of: tables) }

  /// Surveys the schema in one round trip.
  init(_ tables: Tables, _ pool: ConnectionPool) throws(StorageError) {
    let names = Tables.names.map { "'\($0)'" }.joined(separator: ", ")
    let rows = try pool.read([
      Statement(
        """
        select c.relname::text, has_table_privilege(c.oid, 'select'),
          has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'),
          c.relname in (\(names)), exists (
            select 1 from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'clock' and not a.attisdropped)
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f')
        """, .text(tables.schema)),
      Statement(
        """
        select has_schema_privilege(n.oid, 'usage') from pg_catalog.pg_namespace n where n.nspname = $1
        """, .text(tables.schema)),
      Statement("select current_setting('transaction_read_only')::text"),
    ])
    exists = rows[1].count > 0
    mayRead = exists && rows[1].bool(0, 0)
    mayWrite = mayRead
    for row in 0..<rows[0].count {
      self.tables.insert(rows[0].text(row, 0))
      guard rows[0].bool(row, 3) else { continue }
      if !rows[0].bool(row, 1) { mayRead = false }
      if !rows[0].bool(row, 2) { mayWrite = false }
      if rows[0].text(row, 0) == "commit" { hasClocks = rows[0].bool(row, 4) }
    }
    isReadOnlyServer = rows[2].text(0, 0) == "on"
  }
}

extension ServerStore {
  /// The version of the tables that this program reads and writes. The first version did not record when trees changed: a program that
  /// relies on the record must not share a store with programs that do not write it.
  static let format: Int64 = 2
  static let magic = "strata"

  /// Opens the store in the URL's schema.
  ///
  /// - Parameters:
  ///   - creates: Makes the schema and its tables if there are none.
  ///   - isReadOnly: Refuses every change; a role without rights to write makes the store read-only by itself.
  package static func open(
    _ url: ServerURL, creates: Bool = false, isReadOnly: Bool = false, options: ServerOptions = ServerOptions(),
    record: @escaping RecordOfEntry = { _, _ in nil }, reporting: Reporting? = nil
  ) throws(StorageError) -> ServerStore {
    var options = options
    options.patience = url.patience ?? options.patience
    var tables = Tables(schema: url.schema, rowPatience: options.rowPatience)
    let pool = ConnectionPool(url, options)
    var survey = try SchemaSurvey(tables, pool)
    if !survey.isStore {
      guard survey.tables.isEmpty else { throw .notOurs(url.schema, survey.tables) }
      guard creates, !isReadOnly else {
        throw .refused("there is no store in schema “\(url.schema)”; strata copy PATH URL puts one there")
      }
      if survey.isReadOnlyServer { throw .readOnly(reason: "the server takes no changes") }
      try create(tables, pool, schemaExists: survey.exists)
      survey = try SchemaSurvey(tables, pool)
    }
    guard survey.mayRead else { throw .refused("the role lacks a right: it may not read schema “\(url.schema)”") }
    let rows = try pool.read(tables.statement("select magic, format, features, identity, origin, created from {store}"))
    guard rows.count == 1, rows.text(0, 0) == magic else {
      throw .notOurs(url.schema, survey.tables)
    }
    let (format, features) = (rows.int(0, 1), rows.bits(0, 2))
    guard format <= Self.format, features == 0 else {
      throw .newerFormat(version: UInt32(clamping: format), requiredFeatures: features)
    }
    guard format == Self.format else {
      throw .server(
        .damaged,
        reason: "the store has format version \(format), which this program no longer reads: "
          + "strata copy URL PATH of the program that made it, and strata copy PATH URL of this one, bring it here")
    }
    var reason: String?
    if isReadOnly {
      reason = "it was opened for reading only"
    } else if survey.isReadOnlyServer {
      reason = "the server takes no changes"
    } else if !survey.mayWrite {
      reason = "the role may not write schema “\(url.schema)”"
    }
    if !survey.hasClocks { tables.hasClocks = reason == nil && addClocks(tables, pool) }
    let identity = rows.bytes(0, 3) ?? []
    func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    let store = ServerStore(
      url: url, tables: tables, pool: pool, options: options, readOnlyReason: reason,
      identity: StoreIdentity(
        high: number(identity.prefix(8)), low: number(identity.dropFirst(8).prefix(8)), generation: 0,
        created: rows.int(0, 5)), origin: rows.bits(0, 4), record: record, reporting: reporting)
    try store.refreshed()
    return store
  }

  /// Adds the clocks of writers to a store that an earlier version has made; that version goes on writing commits without.
  /// Returns false if the role does not own the table, or if another session holds it.
  private static func addClocks(_ tables: Tables, _ pool: ConnectionPool) -> Bool {
    let added = try? pool.inTransaction([
      tables.lockTimeout(seconds: 2), tables.statement("alter table {commit} add column if not exists clock bigint"),
    ])
    return added != nil
  }

  /// Makes the tables of an empty store, all of them or none.
  private static func create(_ tables: Tables, _ pool: ConnectionPool, schemaExists: Bool) throws(StorageError) {
    var statements: [Statement] = []
    if !schemaExists { statements.append(Statement("create schema \(tables.quotedSchema)")) }
    statements += Tables.definitions.map { tables.statement($0) }
    statements.append(
      tables.statement(
        """
        insert into {store} (magic, format, features, identity, origin, created, newest, head, parent, oldest, trees, next_tree)
        values ($1, $2, 0, $3, $4, $5, 0, 0, 0, 0, 0, 1)
        """,
        [
          .text(magic), .int32(Int32(format)), .bytes(.token()),
          .int(Int64.random(in: 1...Int64.max)), .int(wallClock()),
        ]))
    do throws(StorageError) {
      try pool.inTransaction(statements)
    } catch {
      // Another process makes the same tables at the same time: its tables are as good.
      if (try? SchemaSurvey(tables, pool))?.isStore != true { throw error }
    }
  }
}

extension StorageError {
  fileprivate static func notOurs(_ schema: String, _ tables: Set<String>) -> StorageError {
    let tables = tables.sorted()
    return .refused(
      "schema “\(schema)” holds something else (\(tables.prefix(4).joined(separator: ", "))\(tables.count > 4 ? ", …" : "")); "
        + "give another one with ?schema=NAME")
  }
}
