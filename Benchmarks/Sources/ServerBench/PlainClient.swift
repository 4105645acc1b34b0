import CStrataLibPQ
import Foundation
import Measuring

/// What somebody writes by hand who needs no history: a table of records, a table for each index, and libpq with prepared statements in its
/// pipeline mode. Each commit is one flush and one round trip.
final class PlainClient {
  private let connection: OpaquePointer
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  init(_ url: String) throws {
    guard let opened = PQconnectdb(url), PQstatus(opened) == CONNECTION_OK else {
      throw BenchError(description: "no connection to \(url)")
    }
    connection = opened
    encoder.outputFormatting = .sortedKeys
    for (name, sql) in [
      ("begin", "begin"), ("commit", "commit"),
      ("record", "insert into plain.item (id, document) values ($1, $2) on conflict (id) do update set document = $2"),
      ("name", "insert into plain.item_name (name, id) values ($1, $2) on conflict do nothing"),
      ("shelf", "insert into plain.item_shelf (shelf, id) values ($1, $2) on conflict do nothing"),
      ("load", "select document from plain.item where id = $1"),
      (
        "range",
        "select i.document from plain.item_name n join plain.item i using (id) where n.name >= $1 order by n.name, n.id limit 100"
      ),
    ] {
      let result = PQprepare(connection, name, sql, 0, nil)
      defer { PQclear(result) }
      guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw failure() }
    }
    guard PQenterPipelineMode(connection) == 1 else { throw failure() }
  }

  deinit { PQfinish(connection) }

  /// Makes its tables, empty ones.
  static func prepare(_ url: String) throws {
    guard let connection = PQconnectdb(url) else { return }
    defer { PQfinish(connection) }
    let result = PQexec(
      connection,
      """
      drop schema if exists plain cascade; create schema plain;
      create table plain.item (id bigint primary key, document bytea not null);
      create table plain.item_name (name text collate "C", id bigint, primary key (name, id));
      create table plain.item_shelf (shelf bigint, id bigint, primary key (shelf, id));
      """)
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw BenchError(description: "no tables") }
  }

  private func failure() -> BenchError { BenchError(description: String(cString: PQerrorMessage(connection))) }

  /// One durable commit of a record with its entries.
  func persist(_ item: Item) throws {
    let id = Self.bytes(item.id)
    try exchange([
      ("begin", []), ("record", [id, Array(try encoder.encode(item))]), ("name", [Array(item.name.utf8), id]),
      ("shelf", [Self.bytes(item.shelf), id]), ("commit", []),
    ])
  }

  func load(_ id: Int) throws -> Item? {
    let rows = try exchange([("load", [Self.bytes(id)])])
    return try rows.first.map { try decoder.decode(Item.self, from: $0) }
  }

  func range(from name: String) throws -> [Item] {
    try exchange([("range", [Array(name.utf8)])]).map { try decoder.decode(Item.self, from: $0) }
  }

  /// All of them by COPY, in one transaction.
  func bulk(_ items: [Item]) throws {
    guard PQexitPipelineMode(connection) == 1 else { throw failure() }
    defer { PQenterPipelineMode(connection) }
    try run("begin")
    let encoder = encoder
    try copy("copy plain.item (id, document) from stdin (format binary)", items) { item in
      [Self.bytes(item.id), Array(try encoder.encode(item))]
    }
    try copy("copy plain.item_name (name, id) from stdin (format binary)", items) { item in
      [Array(item.name.utf8), Self.bytes(item.id)]
    }
    try copy("copy plain.item_shelf (shelf, id) from stdin (format binary)", items) { item in
      [Self.bytes(item.shelf), Self.bytes(item.id)]
    }
    try run("commit")
  }

  private func run(_ sql: String) throws {
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw failure() }
  }

  private func copy(_ sql: String, _ items: [Item], _ fields: (Item) throws -> [[UInt8]]) throws {
    let begun = PQexec(connection, sql)
    defer { PQclear(begun) }
    guard PQresultStatus(begun) == PGRES_COPY_IN else { throw failure() }
    var buffer = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8)
    func put() throws {
      let put = buffer.withUnsafeBytes {
        PQputCopyData(connection, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
      }
      guard put == 1 else { throw failure() }
      buffer.removeAll(keepingCapacity: true)
    }
    for item in items {
      let values = try fields(item)
      buffer += [0, UInt8(values.count)]
      for value in values { buffer += withUnsafeBytes(of: Int32(value.count).bigEndian, Array.init) + value }
      if buffer.count > 1 << 16 { try put() }
    }
    buffer += [0xFF, 0xFF]
    try put()
    guard PQputCopyEnd(connection, nil) == 1 else { throw failure() }
    while let result = PQgetResult(connection) {
      defer { PQclear(result) }
      guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw failure() }
    }
  }

  // MARK: Exchanges

  private static func bytes(_ number: Int) -> [UInt8] { withUnsafeBytes(of: Int64(number).bigEndian, Array.init) }

  /// Sends prepared statements in one flush; the first columns of all rows.
  @discardableResult
  private func exchange(_ statements: [(name: String, values: [[UInt8]])]) throws -> [Data] {
    for (name, values) in statements {
      let lengths = values.map { Int32($0.count) }
      let formats = [Int32](repeating: 1, count: values.count)
      let copies = values.map { value in
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, value.count))
        for (place, byte) in value.enumerated() { copy[place] = CChar(bitPattern: byte) }
        return copy
      }
      defer { for copy in copies { copy.deallocate() } }
      let sent = PQsendQueryPrepared(
        connection, name, Int32(values.count), copies.map { UnsafePointer($0) }, lengths, formats, 1)
      guard sent == 1 else { throw failure() }
    }
    guard PQpipelineSync(connection) == 1 else { throw failure() }
    var rows: [Data] = []
    for _ in statements {
      guard let result = PQgetResult(connection) else { throw failure() }
      defer { PQclear(result) }
      let status = PQresultStatus(result)
      guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else { throw failure() }
      for row in 0..<PQntuples(result) {
        guard let value = PQgetvalue(result, row, 0) else { continue }
        rows.append(Data(bytes: value, count: Int(PQgetlength(result, row, 0))))
      }
      // A null ends the answer of each statement.
      while let extra = PQgetResult(connection) { PQclear(extra) }
    }
    PQclear(PQgetResult(connection))
    return rows
  }
}
