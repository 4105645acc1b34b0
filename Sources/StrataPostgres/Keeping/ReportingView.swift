package import StrataEngine

/// A view of the database for people with `psql` and for reporting tools: one for each datastore, as of the newest commit. The library
/// never reads it.
package struct ReportingView: Hashable, Sendable {
  /// How the identifier is stored in a key.
  package enum Identifier: Hashable, Sendable { case integer, string, uuid, other }

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
        case when get_byte(r.bytes, 0) < 128 then \(Self.text("substr(r.bytes, 2, get_byte(r.bytes, 0))")) end as version,
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
    case .string: Self.text("substr(r.key, 2, length(r.key) - 2)")
    case .uuid: "encode(substr(r.key, 2), 'hex')::uuid"
    case .other: "encode(r.key, 'hex')"
    }
  }

  /// The text of some bytes; null if it has a zero character, which the server's texts cannot hold.
  private static func text(_ bytes: String) -> String {
    "case when position('\\x00'::bytea in \(bytes)) = 0 then convert_from(\(bytes), 'UTF8') end"
  }

  /// Part of the comment of each view that the library made: only a view with it may be replaced.
  static let mark = "Kept by Strata"

  /// The whole comment, which differs if the view must be made again.
  var comment: String { "\(Self.mark): tree \(tree), identifiers \(identifier), \(isJSON ? "documents" : "contents")" }

  var isPossible: Bool { !Tables.names.contains(name) && name.utf8.count <= 63 && !name.contains("}") }
}

extension ServerStore {
  /// Makes the views that are missing or out of date, and removes those of ours whose names are not among them. A view of another owner
  /// stays as it is. If all are up to date, nothing is locked; a view in use is waited for two seconds. Does nothing if the role may not
  /// make views.
  ///
  /// - Returns: A sentence for each view that could not be kept, and why.
  @discardableResult
  package func setReportingViews(_ views: [ReportingView]) throws(StorageError) -> [String] {
    let (mayMake, present) = try presentViews()
    guard mayMake else { return [] }
    var failures: [String] = []
    func change(_ name: String, _ what: String, _ statements: [Statement], again: [Statement] = []) {
      do throws(StorageError) {
        try pool.inTransaction([tables.lockTimeout(seconds: 2)] + statements)
      } catch {
        // Of another shape than before.
        if !again.isEmpty, "\(error)".contains("(42P16)") { return change(name, what, again) }
        failures.append("the view “\(name)” for people with psql was not \(what): \(error)")
      }
    }
    let wanted = views.filter(\.isPossible)
    for (name, comment) in present.sorted(by: { $0.key < $1.key })
    where comment.hasPrefix(ReportingView.mark) && !wanted.contains(where: { $0.name == name }) {
      change(name, "taken away", [tables.statement("drop view {\(name)}")])
    }
    for view in wanted {
      let there = present[view.name]
      if there == view.comment { continue }
      guard there?.hasPrefix(ReportingView.mark) ?? true else {
        failures.append("the view “\(view.name)” belongs to another owner, so there is none of the datastore")
        continue
      }
      let make = [
        tables.statement("create or replace view {\(view.name)} as \(view.definition)"), tables.comment(view),
      ]
      change(view.name, "made anew", make, again: [tables.statement("drop view {\(view.name)}")] + make)
    }
    return failures
  }

  /// Whether the role may make views, and the comments of the views that exist, by name.
  private func presentViews() throws(StorageError) -> (mayMake: Bool, comments: [String: String]) {
    let rows = try pool.read([
      Statement(
        """
        select c.relname::text, coalesce(obj_description(c.oid, 'pg_class'), '')
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind = 'v'
        """, .text(tables.schema)),
      Statement(
        "select has_schema_privilege(n.oid, 'create') from pg_catalog.pg_namespace n where n.nspname = $1",
        .text(tables.schema)),
    ])
    var comments: [String: String] = [:]
    for row in 0..<rows[0].count { comments[rows[0].text(row, 0)] = rows[0].text(row, 1) }
    return (rows[1].count > 0 && rows[1].bool(0, 0), comments)
  }
}

extension Tables {
  fileprivate func comment(_ view: ReportingView) -> Statement {
    statement("comment on view {\(view.name)} is '\(view.comment)'")
  }
}
