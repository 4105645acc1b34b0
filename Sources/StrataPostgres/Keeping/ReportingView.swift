package import StrataEngine

/// A view of the database for people with `psql` and for reporting tools: one for each datastore, as of the newest commit. The library
/// never reads it.
package struct ReportingView: Hashable, Sendable {
  /// How the identifier is stored in a key.
  package enum Identifier: Hashable, Sendable {
    case integer, string, uuid, other
    /// A string as earlier versions showed it: one with a zero character kept every row from being read.
    case text
  }

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
    let text = "convert_from(substr(r.key, 2, length(r.key) - 2), 'UTF8')"
    let magnitude = "('x' || lpad(encode(substr(r.key, 2), 'hex'), 16, '0'))::bit(64)::bigint"
    return switch identifier {
    case .integer:
      """
      case when get_byte(r.key, 0) = 20 then 0 when get_byte(r.key, 0) > 20 then \(magnitude)
        when get_byte(r.key, 0) = 12 then \(magnitude) + 1
        else \(magnitude) + 1 - (1::bigint << (8 * (20 - get_byte(r.key, 0)))) end
      """
    // The server's texts hold no zero character.
    case .string: "case when position('\\x00'::bytea in substr(r.key, 2, length(r.key) - 2)) = 0 then \(text) end"
    case .text: text
    case .uuid: "encode(substr(r.key, 2), 'hex')::uuid"
    case .other: "encode(r.key, 'hex')"
    }
  }

  /// Part of the comment of each view that the library made: only a view with it may be replaced.
  static let mark = "Kept by Strata"

  /// The whole comment, which differs if the view must be made again.
  var comment: String { "\(Self.mark): tree \(tree), identifiers \(identifier), \(isJSON ? "documents" : "contents")" }

  var isPossible: Bool { !Tables.names.contains(name) && name.utf8.count <= 63 && !name.contains("}") }

  /// The views that earlier versions, which left no comment, can have made of a tree.
  static func unmarked(_ name: String, tree: Int32) -> [ReportingView] {
    [Identifier.integer, .text, .uuid, .other].flatMap { identifier in
      [true, false].map { ReportingView(name: name, tree: tree, identifier: identifier, isJSON: $0) }
    }
  }
}

extension ServerStore {
  private typealias PresentView = (name: String, comment: String, definition: String)

  /// Makes the views that are missing or out of date, and removes those of ours whose names are not among them. A view of another owner
  /// stays as it is. If all are up to date, nothing is locked; a view in use is waited for two seconds. Does nothing if the role may not
  /// make views.
  ///
  /// - Returns: A sentence for each view that could not be kept, and why.
  @discardableResult
  package func setReportingViews(_ views: [ReportingView]) throws(StorageError) -> [String] {
    let (mayMake, found) = try presentViews()
    guard mayMake else { return [] }
    var present: [String: PresentView] = [:]
    for var view in found {
      if view.comment.isEmpty, let comment = markOfEarlierVersion(view) { view.comment = comment }
      present[view.name] = view
    }
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
    for view in present.values.sorted(by: { $0.name < $1.name })
    where view.comment.hasPrefix(ReportingView.mark) && !wanted.contains(where: { $0.name == view.name }) {
      change(view.name, "taken away", [tables.statement("drop view {\(view.name)}")])
    }
    for view in wanted {
      let there = present[view.name]
      if there?.comment == view.comment { continue }
      guard there?.comment.hasPrefix(ReportingView.mark) ?? true else {
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

  /// Whether the role may make views, and the views that exist.
  private func presentViews() throws(StorageError) -> (mayMake: Bool, views: [PresentView]) {
    let rows = try pool.read([
      Statement(
        """
        select c.relname::text, coalesce(obj_description(c.oid, 'pg_class'), ''), pg_get_viewdef(c.oid)
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind = 'v'
        """, .text(tables.schema)),
      Statement(
        "select has_schema_privilege(n.oid, 'create') from pg_catalog.pg_namespace n where n.nspname = $1",
        .text(tables.schema)),
    ])
    let views = (0..<rows[0].count).map { row in
      (name: rows[0].text(row, 0), comment: rows[0].text(row, 1), definition: rows[0].text(row, 2))
    }
    return (rows[1].count > 0 && rows[1].bool(0, 0), views)
  }

  /// The comment that a view without one would have, if an earlier version has made it: its definition equals what that version wrote. The
  /// server is asked how it shows each definition that is possible; nothing of that stays.
  private func markOfEarlierVersion(_ view: PresentView) -> String? {
    guard let number = view.definition.firstMatch(of: /c\.tree = ([0-9]+)/), let tree = Int32(number.1) else {
      return nil
    }
    let probe = "strata_probe"
    for meant in ReportingView.unmarked(view.name, tree: tree) {
      let rows = try? pool.inTransaction([
        Statement("create temporary view \(probe) as \(tables.sql(meant.definition))"),
        Statement("select pg_get_viewdef('pg_temp.\(probe)'::regclass)"), Statement("drop view pg_temp.\(probe)"),
      ])
      guard let rows, rows[1].text(0, 0) == view.definition else { continue }
      _ = try? pool.inTransaction([tables.lockTimeout(seconds: 2), tables.comment(meant)])
      return meant.comment
    }
    return nil
  }
}

extension Tables {
  fileprivate func comment(_ view: ReportingView) -> Statement {
    statement("comment on view {\(view.name)} is '\(view.comment)'")
  }
}
