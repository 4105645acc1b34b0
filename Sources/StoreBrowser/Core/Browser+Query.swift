import StrataModel
import StrataDocuments
import StrataExpressions

/// Finds the plan of a view and the names in it that no record has.
struct QueryRequest: Question {
  static let slot = WorkSlot(name: "query")
  enum Purpose: Sendable { case edit, apply }

  var query: ViewQuery
  /// The rows as the query wants them.
  var source: RowSource
  var commit: CommitNumber
  var purpose: Purpose

  struct Reply: Sendable {
    var plan: String
    var order: OrderRequest.Reply
    var unknown: UnknownName?
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(source.datastore, at: commit)
    let plan = try ExplainRequest(source: source, commit: commit).reply(in: context).parts
    let filter = try source.condition
    let others = query.select + query.group + query.computed.flatMap(\.paths)
    let names = RecordQuery(filter: filter, sort: try source.sort.paths + others.map { ($0, false) })
    var unknown = purpose == .edit ? [] : try names.unknownNames(in: datastore).filter { !source.derives([$0.path]) }
    for join in source.joined where query.texts(.join).contains(join.text) && purpose == .apply {
      unknown += try context.unknownName(in: join, at: commit).map { [$0] } ?? []
    }
    for place in unknown.indices {
      let known = unknown[place].nearest + source.derivedPaths.map(\.shortText)
      unknown[place].nearest = UnknownName.nearest(to: unknown[place].path.shortText, among: known)
    }
    return Reply(
      plan: plan.joined(separator: " · "),
      order: try OrderRequest(source: source, commit: commit).reply(in: context), unknown: unknown.first)
  }
}

/// The view as text in the user's editor.
extension Browser {
  /// Asks for the plan of the present view, which then opens in the editor.
  mutating func openQuery() {
    guard let source = table.source else { return }
    external = nil
    var query = viewQuery(of: source)
    try? ask(&query, .edit)
  }

  /// The name of the order by identifier where an index is named.
  private static let identifiers = "identifier"

  /// The view of the table as it is shown, with its groups if they have the focus.
  private func viewQuery(of source: RowSource) -> ViewQuery {
    func name(_ path: String) -> String { String(path.drop { $0 == "." }) }
    var texts: [ViewQuery.Clause: String] = [:]
    texts[.filter] = source.filter
    texts[.range] = source.range.map { "\($0) of \(source.index ?? Self.identifiers)" }
    texts[.limit] = source.limit.map { "\($0)" }
    var order = source.sort
    if order.isEmpty, let path = session.current?.index(source.index)?.descriptor.documentPath {
      order = [SortOrder(path: path.description, isDescending: source.isDescending)]
    }
    texts[.order] = order.map { name($0.path) + ($0.isDescending ? " desc" : "") }.joined(separator: ", ")
    let choice = session.columnChoice(source.datastore)
    if !choice.hidden.isEmpty || !choice.order.isEmpty {
      texts[.select] = table.visibleColumns(session).compactMap { $0.path.map(name) }.joined(separator: ", ")
    }
    if focus == .group, let groups = panes[GroupPane.self].request {
      let paths = groups.keys + [groups.field].compactMap(\.self)
      texts[.group] = paths.map { name($0.description) }.joined(separator: " ")
    }
    return ViewQuery(texts, of: source)
  }

  /// - Throws: `ModelError.invalid` in the clause that is read, for a range or a column that cannot be added to the table.
  private mutating func ask(_ query: inout ViewQuery, _ purpose: QueryRequest.Purpose) throws(ModelError) {
    with(TablePane.self) { $0.updateDerivedColumns($1) }
    guard var source = table.source, let descriptor = session.current?.descriptor else { return }
    if purpose == .apply {
      (source.filter, source.sort, source.limit) = (query[.filter], query.sort, query.limit)
      source.range = nil
      query.clause = .range
      if let range = query.range {
        let known = session.current?.indexes.map(\.descriptor.name) ?? []
        guard known.contains(range.index) || [Self.identifiers, "id"].contains(range.index) else {
          let error = ModelError.noSuchIndex(
            range.index, datastore: source.datastore, known: known + [Self.identifiers])
          throw .invalid(text: range.index, column: 1, reason: error.description)
        }
        source.index = known.contains(range.index) ? range.index : nil
        source.range = try session.range(typed: range.text, of: source)
      }
      query.clause = .join
      for text in query.texts(.join) {
        try source.add(Join(parsing: text, of: descriptor, session.naming, beside: source), beside: table.columns)
      }
      query.clause = .column
      try source.add(query.computed, beside: table.columns)
    }
    let request = QueryRequest(query: query, source: source, commit: session.shown, purpose: purpose)
    session.start(QueryRequest.slot, request, label: "plan") { $0.take($1, to: request) }
  }

  private mutating func take(_ reply: QueryRequest.Reply, to request: QueryRequest) {
    guard request.source.datastore == table.source?.datastore else { return }
    guard request.purpose == .apply else {
      return openEditor(
        .view(datastore: request.source.datastore), text: request.query.text(),
        header: [
          "\(request.source.datastore): what is saved is applied; an empty file cancels",
          "order FIELD desc, … · select FIELD, … · group FIELD [FIELD] · name NAME keeps it under VIEWS",
          "range A ..< B of INDEX · column NAME = EXPR · join FIELD FIELD, … add a column or change it",
          "plan: \(reply.plan)",
        ])
    }
    let editing = external
    external = nil
    if let unknown = reply.unknown {
      if let editing { return reopen(editing, request.query.mistake(unknown)) }
      session.warn(unknown.sentence)
      // Without a column that is gone the view shows the others.
      guard request.query.clause(of: unknown.path) == .select else { return }
    }
    apply(request.query, reply.order, request.source)
  }

  /// Takes a text from the editor. A mistake opens it again at its place.
  mutating func queryEdited(_ text: String, _ editing: ExternalEdit) {
    let body = Self.withoutComments(text)
    guard !body.trimmed.isEmpty else { return session.say("an empty file: the view is as it was") }
    do throws(ViewQuery.Mistake) { try show(ViewQuery(parsing: body)) } catch {
      reopen(ExternalEdit(subject: editing.subject, header: editing.header, text: body), error)
    }
  }

  private mutating func show(_ query: ViewQuery) throws(ViewQuery.Mistake) {
    var query = query
    do throws(ModelError) { try ask(&query, .apply) } catch { throw query.mistake(error) }
  }

  private mutating func reopen(_ editing: ExternalEdit, _ mistake: ViewQuery.Mistake) {
    reopen(editing, editing.text, line: mistake.line, column: mistake.column, reason: mistake.reason)
  }

  private mutating func apply(_ query: ViewQuery, _ order: OrderRequest.Reply, _ asked: RowSource) {
    guard var source = table.source else { return }
    // An order that was not changed keeps its index. A range has the order of its index, or is sorted.
    (source.index, source.range) = (asked.index, asked.range)
    if query[.order] != viewQuery(of: source)[.order] {
      if source.range == nil {
        source.index = query.sort.isEmpty ? nil : order.index.map { $0.isEmpty ? nil : $0 } ?? source.index
      }
      let isOrdered = order.index.map { source.range == nil || $0 == source.index ?? "" } ?? false
      source.isDescending = isOrdered && order.isDescending
      source.sort = isOrdered ? [] : query.sort
    }
    (source.filter, source.limit) = (query[.filter], query.limit)
    if let filter = source.filter { remember(filter, in: \.knownFilters) }
    arrange(query.select, of: asked)
    recordJump()
    closeView(of: .group)
    table.show(source, anchor: table.keepingIdentifier())
    with(TablePane.self) { $0.updateDerivedColumns($1) }
    if let name = query[.name] { nameView(name, query) }
    if !query.group.isEmpty { run(.group, argument: query[.group]) }
  }

  /// Shows the selected fields in their order and hides the others; without any shows all.
  private mutating func arrange(_ select: [DocumentPath], of source: RowSource) {
    var choice = session.columnChoice(source.datastore)
    choice.setDerived(of: source, over: table.source)
    let paths = select.map(\.description)
    let all = table.columns.seen.map(\.path) + source.derivedPaths.map(\.description)
    choice.hidden = paths.isEmpty ? [] : all.filter { !paths.contains($0) }
    if !paths.isEmpty { choice.order = paths }
    session.arrange(choice, of: source.datastore)
  }

  mutating func nameView(_ name: String, _ query: ViewQuery? = nil) {
    guard let source = table.source else { return }
    var query = query ?? viewQuery(of: source)
    query.setColumns(of: source)
    let text = query.text(without: ViewQuery.Clause.allCases.filter { [query] in $0 == .name || query[$0] == nil })
    let view = NamedView(name: name, datastore: source.datastore, filter: query[.filter] ?? "", query: text)
    session.remember { remembered in
      remembered.views = remembered.views.filter { $0.name != name || $0.datastore != source.datastore } + [view]
    }
    session.say("view \(name): \(query[.filter] ?? text.replacing("\n", with: " ").trimmed)")
  }

  mutating func show(_ view: NamedView) {
    // A mistake in it is not one of the text that came from the editor last.
    external = nil
    do throws(ViewQuery.Mistake) { try show(ViewQuery(parsing: view.query ?? "where \(view.filter)")) } catch {
      session.warn("\(view.name): \(error.reason)")
    }
  }
}
