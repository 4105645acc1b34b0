import StrataModel
import StrataDocuments
import StrataExpressions

/// Columns that are computed: how they are added, changed and taken away. `DerivedFields` computes them.
extension TablePane {
  /// The computed column under the cursor.
  func selectedComputed(_ session: Session) -> Assignment? {
    guard let path = selectedColumn(session)?.path else { return nil }
    return source?.computed.first { $0.path.description == path }
  }

  /// Takes the remembered computed and joined columns of the datastore into the rows.
  mutating func updateDerivedColumns(_ session: Session) {
    guard let source else { return }
    let choice = session.columnChoice(source.datastore)
    if choice.computed ?? [] != source.computed.map(\.text) {
      self.source?.computed = (choice.computed ?? []).compactMap { try? WorkContext.computed($0) }
    }
    if choice.joined ?? [] != source.joined.map(\.text),
      let descriptor = session.outline?.datastore(source.datastore)?.descriptor
    {
      self.source?.joined = (choice.joined ?? []).compactMap { try? Join(parsing: $0, of: descriptor, session.naming) }
    }
    guard let changed = self.source, changed != source else { return }
    // Joined columns may have lost a field.
    let kept = changed.computed.map(\.path) + (changed.joined == source.joined ? changed.joined.map(\.path) : [])
    let gone = source.computed.map(\.path) + source.joined.map(\.path)
    columns.forget { path in
      gone.contains { field in !kept.contains(field) && WorkContext.isPath(path, in: field) }
    }
  }
}

extension WorkContext {
  /// Reads `density = population / area`.
  static func computed(_ text: String) throws(ModelError) -> Assignment {
    let column = try onDocument(Assignment(parsing: text))
    guard case .member? = column.path.components.first, column.path.components.count == 1 else {
      throw .invalid(
        text: text, column: 1,
        reason: "the name of a column is one word, or in quotes: .\"per head\"")
    }
    return column
  }
}

extension Browser {
  /// `NAME = EXPR` adds or changes a column, `NAME` takes it away, with the filter and the orders that need it.
  mutating func computeColumn(_ text: String) {
    guard let source = table.source else { return }
    let text = text.trimmed
    var changed = source
    do throws(ModelError) {
      guard text.contains("=") else {
        let path = try WorkContext.path(text)
        guard let place = source.computed.firstIndex(where: { $0.path == path }) else {
          let names = source.computed.map(\.path.shortText).joined(separator: ", ")
          return session.warn(
            "no column \(text) is computed\(names.isEmpty ? "" : "; there are \(names)")")
        }
        changed.computed.remove(at: place)
        keepDerived(of: changed, without: path)
        return session.say("the column \(path.shortText) is gone\(removeUses(of: path))")
      }
      let column = try WorkContext.computed(text)
      try changed.add([column], beside: table.columns)
      keepDerived(of: changed)
      table.soughtField = column.path.description
      if let unknown = table.unknownName(in: column.paths, session) {
        session.warn("computed: \(column.text), but \(unknown)")
      } else {
        session.say("computed: \(column.text)")
      }
    } catch { session.complain(error) }
  }

  /// Remembers the derived columns of the table.
  ///
  /// - Parameter path: That of a column that is gone, or of the columns of a join.
  mutating func keepDerived(of source: RowSource, without path: DocumentPath? = nil) {
    var choice = session.columnChoice(source.datastore)
    if let path { choice.forget(path) }
    choice.setDerived(of: source, over: table.source)
    session.arrange(choice, of: source.datastore)
  }

  /// Takes away the filter and the orders that need a column that is gone, and says so, and which computed columns and views need it.
  ///
  /// - Parameter text: That of the join, if the column is joined.
  mutating func removeUses(of path: DocumentPath, made text: String? = nil) -> String {
    guard let source = table.source else { return "" }
    var (kept, gone) = (source, [String]())
    if let filter = source.filter, let test = try? Filter(typed: filter),
      test.paths.contains(where: path.contains)
    {
      kept.filter = nil
      gone.append("the filter \(filter)")
    }
    kept.sort.removeAll { WorkContext.isPath($0.path, in: path) }
    if kept.sort != source.sort { gone.append("the order by \(path.shortText)") }
    let dependent = source.computed.filter { $0.path != path && $0.paths.contains(where: path.contains) }
    let names = dependent.map(\.path.shortText).joined(separator: ", ")
    var rest = names.isEmpty ? "" : "; without it \(names) \(dependent.count == 1 ? "is" : "are") null"
    for view in session.remembered.views(of: source.datastore) {
      let query = try? ViewQuery(parsing: view.query ?? "")
      guard
        query?.computed.contains(where: { $0.path == path }) == true
          || query?.texts(.join).contains(where: { $0 == text }) == true
      else { continue }
      rest += "; view \(view.name) adds it again"
    }
    guard !gone.isEmpty else { return rest }
    session.intend(.show(kept, anchor: table.keepingIdentifier()))
    return ", and with it \(gone.joined(separator: " and "))\(rest)"
  }
}

extension ColumnChoice {
  /// Takes over the derived columns of rows if they were changed. Those that the shown commit cannot have stay.
  mutating func setDerived(of source: RowSource, over old: RowSource?) {
    if source.computed != old?.computed { computed = source.computed.isEmpty ? nil : source.computed.map(\.text) }
    if source.joined != old?.joined { joined = source.joined.isEmpty ? nil : source.joined.map(\.text) }
  }

  /// Forgets how a derived column, or the columns of a join, were arranged.
  mutating func forget(_ field: DocumentPath) {
    order.removeAll { WorkContext.isPath($0, in: field) }
    hidden.removeAll { WorkContext.isPath($0, in: field) }
    widths = widths.filter { !WorkContext.isPath($0.key, in: field) }
    formats = formats?.filter { !WorkContext.isPath($0.key, in: field) }
  }
}
