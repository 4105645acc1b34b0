import StrataAtlas
import CSQLite

/// The cities in SQLite, without an index, as a program has them that uses its C interface by hand.
final class SQLiteCities {
  private var database: OpaquePointer?
  private var counting: OpaquePointer?

  init(_ cities: [City], at path: String) throws {
    sqlite3_open(path, &database)
    for statement in [
      "PRAGMA journal_mode=WAL", "PRAGMA mmap_size=8589934592",
      "CREATE TABLE cities(id INTEGER PRIMARY KEY, name TEXT, latitude REAL, longitude REAL, country TEXT,"
        + " population INTEGER, timezone TEXT, admin TEXT, names TEXT)",
      "BEGIN",
    ] { guard sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK else { throw failure } }
    var insertion: OpaquePointer?
    sqlite3_prepare_v2(database, "INSERT INTO cities VALUES(?,?,?,?,?,?,?,?,?)", -1, &insertion, nil)
    defer { sqlite3_finalize(insertion) }
    // SQLite copies the text while it is bound.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for city in cities {
      sqlite3_bind_int64(insertion, 1, Int64(city.id))
      sqlite3_bind_text(insertion, 2, city.name, -1, transient)
      sqlite3_bind_double(insertion, 3, city.latitude)
      sqlite3_bind_double(insertion, 4, city.longitude)
      sqlite3_bind_text(insertion, 5, city.countrycode, -1, transient)
      sqlite3_bind_int64(insertion, 6, Int64(city.population))
      sqlite3_bind_text(insertion, 7, city.timezone, -1, transient)
      sqlite3_bind_text(insertion, 8, city.admin1code, -1, transient)
      sqlite3_bind_text(insertion, 9, city.alternatenames.joined(separator: ","), -1, transient)
      guard sqlite3_step(insertion) == SQLITE_DONE else { throw failure }
      sqlite3_reset(insertion)
    }
    guard sqlite3_exec(database, "COMMIT", nil, nil, nil) == SQLITE_OK else { throw failure }
    sqlite3_prepare_v2(
      database, "SELECT count(*) FROM cities WHERE population > ? AND latitude > ?", -1, &counting, nil)
  }

  deinit {
    sqlite3_finalize(counting)
    sqlite3_close(database)
  }

  func count(population: Int, latitude: Double) throws -> Int {
    defer { sqlite3_reset(counting) }
    sqlite3_bind_int64(counting, 1, Int64(population))
    sqlite3_bind_double(counting, 2, latitude)
    guard sqlite3_step(counting) == SQLITE_ROW else { throw failure }
    return Int(sqlite3_column_int64(counting, 0))
  }

  /// Makes an index.
  func index(_ columns: String) throws {
    guard
      sqlite3_exec(database, "CREATE INDEX IF NOT EXISTS \"\(columns)\" ON cities(\(columns))", nil, nil, nil)
        == SQLITE_OK
    else { throw failure }
  }

  /// The rows of a statement: an optional text, then numbers.
  func rows(_ statement: String, numbers: Int) throws -> [(text: String, numbers: [Int])] {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(database, statement, -1, &prepared, nil) == SQLITE_OK else { throw failure }
    defer { sqlite3_finalize(prepared) }
    var rows: [(String, [Int])] = []
    while sqlite3_step(prepared) == SQLITE_ROW {
      let text = sqlite3_column_text(prepared, 0).map { String(cString: $0) } ?? ""
      rows.append((text, (1...numbers).map { Int(sqlite3_column_int64(prepared, Int32($0))) }))
    }
    return rows
  }

  private var failure: BenchError { BenchError(description: String(cString: sqlite3_errmsg(database))) }
}
