/// A view of the database for people with `psql` and for reporting tools: one for each datastore, as of the newest commit. Nothing of ours
/// reads it.
package struct ReportingView: Hashable, Sendable {
  /// How the identifier lies in a key.
  package enum Identifier: Hashable, Sendable { case integer, text, uuid, other }

  package var name: String
  package var tree: Int32
  package var identifier: Identifier
  /// Whether the records are JSON.
  package var isJSON: Bool

  package init(name: String, tree: Int32, identifier: Identifier, isJSON: Bool) {
    self.name = name
    self.tree = tree
    self.identifier = identifier
    self.isJSON = isJSON
  }

  /// The record's bytes: the length of the version's name in one byte (longer names are rare and shown as null), the name, the content.
  var definition: String {
    let bytes = "coalesce(c.payload, (select v.bytes from {value} v where v.number = c.value))"
    let text = "convert_from(substr(r.bytes, 2 + get_byte(r.bytes, 0)), 'UTF8')"
    let document =
      isJSON
      ? "case when get_byte(r.bytes, 0) < 128 and position('\\u0000' in \(text)) = 0 then \(text)::jsonb end as document"
      : "substr(r.bytes, 2 + get_byte(r.bytes, 0)) as content"
    return """
      select \(key) as identifier,
        case when get_byte(r.bytes, 0) < 128 then convert_from(substr(r.bytes, 2, get_byte(r.bytes, 0)), 'UTF8') end as version,
        \(document)
      from (select c.key, \(bytes) as bytes from {current} c where c.tree = \(tree)) r
      """
  }

  private var key: String {
    let magnitude = "('x' || lpad(encode(substr(r.key, 2), 'hex'), 16, '0'))::bit(64)::bigint"
    return switch identifier {
    case .integer:
      """
      case when get_byte(r.key, 0) = 20 then 0 when get_byte(r.key, 0) > 20 then \(magnitude)
        when get_byte(r.key, 0) = 12 then \(magnitude) + 1
        else \(magnitude) + 1 - (1::bigint << (8 * (20 - get_byte(r.key, 0)))) end
      """
    case .text: "convert_from(substr(r.key, 2, length(r.key) - 2), 'UTF8')"
    case .uuid: "encode(substr(r.key, 2), 'hex')::uuid"
    case .other: "encode(r.key, 'hex')"
    }
  }
}

extension ServerStore {
  /// Makes the views anew, and takes away those whose names are not among them. A name that one of the tables has is left out, and so is all
  /// where the role may not make views.
  package func setReportingViews(_ views: [ReportingView]) throws(ServerError) {
    let known = try pool.read([
      Statement(
        "select c.relname::text from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'v'",
        .text(tables.schema))
    ])
    var statements = [Statement("begin")]
    for row in 0..<known[0].count {
      statements.append(tables.statement("drop view {\(known[0].text(row, 0))}"))
    }
    for view in views where !Tables.names.contains(view.name) && view.name.utf8.count <= 63 && !view.name.contains("}")
    {
      statements.append(tables.statement("create view {\(view.name)} as \(view.definition)"))
    }
    statements.append(Statement("commit"))
    try pool.with { connection throws(ServerError) in
      do throws(ServerError) {
        try connection.exchange(statements)
      } catch {
        if !connection.isLost { try connection.exchange([Statement("rollback")]) }
        throw error
      }
    }
  }
}
