import StrataDocuments
import StrataModel

/// Commands that look: filters, histories, time travel, differences.
extension Browser {
  /// `EXPR`, `!EXPR`, or `= RANGE` of the index that orders the table.
  mutating func setFilter(_ text: String) {
    let text = text.trimmed
    guard Self.isRange(text) else { return keepFilter(text.isEmpty ? nil : text) }
    abandonPreview()
    guard let source = table.source else { return }
    do throws(ModelError) {
      let typed = try session.range(typed: text)
      guard text != "=" else { return table.setRange(nil) }
      let range = typed == KeyInterval() ? nil : typed
      let count = Inquiry { [commit = session.shown] context throws(ModelError) in
        let index = try context.datastore(source.datastore, at: commit).index(source.index)
        return try WorkContext.bounds(of: range, in: index).count
      }
      session.start(.range, count) { browser, count in
        guard browser.table.source?.datastore == source.datastore, browser.table.source?.index == source.index else {
          return
        }
        browser.recordJump()
        browser.table.setRange(range)
        let entries = NumberFormat.counted(count, "entry", "entries")
        browser.session.say("\(range?.description ?? "all"): \(entries)")
      }
    } catch { session.complain(error) }
  }

  mutating func forgetView(_ name: String?) {
    let others = session.remembered.views.filter { $0.name != name || $0.datastore != session.datastore }
    guard others != session.remembered.views else { return session.warn("there is no view “\(name ?? "")”") }
    session.remember { $0.views = others }
  }

  mutating func showHistory(_ scope: HistoryScope) {
    session.selections.difference = nil
    history.show(scope, at: session.asOf)
    focusPane(.history)
  }

  // MARK: Time travel

  /// The commit that is meant by "here": in the history the selected one, otherwise the one that is shown.
  var shownCommit: CommitNumber {
    focus == .history ? history.selected?.commit.number ?? session.shown : session.shown
  }

  /// - Parameter commit: nil for the head.
  mutating func travel(to commit: CommitNumber?) {
    let (before, target) = (session.shown, commit ?? session.head)
    if session.asOf == nil { session.held = before }
    session.shown = target
    session.asOf = [session.head, session.present].contains(target) ? nil : target
    if target == session.head { session.unseen = 0 }
    table.changed = [:]
    table.problem = nil
    table.forgetScan()
    with(TablePane.self) { $0.orderAgain(in: &$1) }
    session.readOutline()
    if let datastore = session.datastore, before != session.shown {
      session.start(
        StepChangesRequest.slot, StepChangesRequest(datastore: datastore, from: before, to: session.shown))
    }
    guard session.asOf != nil else {
      return session.say(target == session.head ? "at the head \(target)" : "holding still at \(target)")
    }
    let present = session.present == session.head ? "the head" : "\(session.present)"
    session.say("as of \(target)" + (escapesToPresent ? "; Esc returns to \(present)" : ""))
  }

  mutating func travel(toNamed commit: String) {
    session.start(.resolve, ResolveRequest(name: commit)) { $0.travel(to: $1) }
  }

  /// `:older 10`; one without a number.
  mutating func stepCommits(_ argument: String?, sign: Int) {
    let text = (argument ?? "1").trimmed
    guard let count = Int(text.isEmpty ? "1" : text), count > 0, count <= 1_000_000 else {
      return session.warn("how many commits is a number from 1 to a million, not “\(text)”")
    }
    if sign > 0, session.shown == session.head { return session.warn("this is the newest commit") }
    let step = Inquiry { [shown = session.shown, head = session.head] context throws(ModelError) in
      try context.commit(sign * count, from: shown, head: head)
    }
    session.start(.resolve, step) { $0.travel(to: $1) }
  }

  mutating func differ(_ argument: String?) {
    guard let argument else {
      if focus == .table, table.marks.count == 2 { openTransposed(differences: true) }
      return
    }
    let names = argument.words.map { $0.filter { $0 != "\"" } }
    guard let first = names.first else { return }
    session.start(.resolve, ResolveRequest(name: first)) { browser, older in
      guard names.count > 1 else { return browser.showDifference(older, browser.session.shown) }
      browser.session.start(.resolve, ResolveRequest(name: names[1])) { $0.showDifference(older, $1) }
    }
  }

  mutating func showDifference(_ old: CommitNumber?, _ new: CommitNumber) {
    guard let old else {
      session.selections.difference = .commit(new)
      open(.difference)
      return
    }
    session.selections.difference = .between(min(old, new), max(old, new))
    open(.difference)
  }

  mutating func toggleFollowing() {
    session.isFollowing.toggle()
    if session.isFollowing {
      session.unseen = 0
      session.say("following the head")
      if session.asOf == nil, session.shown != session.head {
        session.shown = session.head
        session.readOutline()
      }
      look()
    } else {
      session.say("holding still at \(session.shown); F follows again")
    }
  }

  // MARK: Index

  /// - Parameter isWhole: Whether all indexes of the datastore are verified, not just the one that orders the table.
  mutating func verify(isWhole: Bool = false) {
    guard let source = table.source else { return }
    let index = isWhole ? nil : source.index
    session.start(
      .verify, VerifyRequest(datastore: source.datastore, index: index, commit: session.shown),
      label: "verify \(index ?? source.datastore)"
    ) { $0.say($1) }
  }

  mutating func findReferrers() {
    guard let place = focus == .record ? record.place : table.selectedPlace(session) else { return }
    session.start(
      .referrers, ReferrersRequest(place: place, commit: session.shown, naming: session.naming),
      label: "records that refer to \(place.identifier)"
    ) { $0.showReferrers($1) }
  }

  private mutating func showReferrers(_ answer: ReferrersAnswer) {
    let name = named(answer.request.place.identifier, answer.label)
    guard !answer.groups.isEmpty else {
      return session.say(
        answer.isDeclared
          ? "no record refers to \(name)" : "no index of any datastore has \(answer.request.place.identifier)")
    }
    let items = answer.groups.map { group in
      let more = group.count > group.names.count ? ", …" : ""
      return MenuOverlay.Item(
        title: "\(group.datastore) by \(group.index)  \(group.names.joined(separator: ", "))\(more)",
        detail: "  \(NumberFormat.count(group.count)) \(group.count == 1 ? "entry" : "entries")",
        choice: Intent { browser in
          guard browser.isThere(group.datastore) else { return }
          browser.recordJump()
          browser.session.datastore = group.datastore
          var source = RowSource(datastore: group.datastore, index: group.index)
          source.range = KeyInterval(lower: .including(group.value), upper: .including(group.value))
          browser.table.show(source, anchor: .position(0))
          browser.adjustOrder()
          browser.returnToMain(focus: .table)
        })
    }
    // Without a declaration an equal value may mean something else.
    let title =
      answer.isDeclared
      ? "Records that refer to \(name)"
      : "Entries with \(answer.request.place.identifier); no index is known to lead to \(answer.request.place.datastore)"
    presentLate(MenuOverlay(title: title, items: items))
  }

  mutating func showScalars() {
    let text: String
    if focus == .record, let line = record.selectedLine, let value = record.document?[line.path] {
      text = value.searchText
    } else if table.wanted == nil, table.selectedPlace(session) != nil, let column = table.selectedColumn(session) {
      text = table.look(at: table.list.selection, session).value(column).text
    } else {
      return
    }
    present(TextOverlay(scalarsOf: text))
  }

  mutating func export(_ file: String) {
    guard let source = table.source, !file.trimmed.isEmpty, let format = TableWriter.Format(file: file.trimmed) else {
      return
    }
    if table.isAboutAll, waitsForRows(.export, file) { return }
    let columns = table.visibleColumns(session).compactMap { table.path(of: $0, session) }
    export(
      ExportRequest(
        source: source, commit: table.commit(session), which: table.everything, file: file.trimmed,
        format: format, columns: columns))
  }

  private mutating func export(_ request: ExportRequest) {
    session.start(.export, request, label: "export to \(request.file)") { browser, answer in
      guard answer.isRefused else { return browser.session.say(answer.sentence) }
      var again = request
      again.replaces = true
      browser.presentLate(
        MenuOverlay(
          title: "\(request.file) is there already",
          items: [
            .init(title: "leave it"),
            .init(title: "choose another name", choice: .ask(.export)),
            .init(
              title: "replace it", detail: "what it holds is lost", choice: Intent { [again] in $0.export(again) }),
          ]))
    }
  }

  mutating func openDatastore(_ key: String, index: String?) {
    guard session.outline?.datastore(key) != nil else { return }
    if session.datastore != nil { recordJump() }
    session.datastore = key
    table.problem = nil
    table.show(RowSource(datastore: key, index: index), anchor: .position(0))
    table.list = ListWindow()
    proveIndexes()
  }

  /// Goes to a record in the order by identifier, or in the present one where it is of the same datastore.
  mutating func select(_ place: RecordPlace) {
    guard isThere(place.datastore) else { return }
    recordJump()
    var source = table.source ?? RowSource(datastore: place.datastore)
    if source.datastore != place.datastore {
      session.datastore = place.datastore
      source = RowSource(datastore: place.datastore)
    }
    source.filter = nil
    source.sort = []
    source.range = nil
    source.limit = nil
    let inserted = session.shownInsertions(place.datastore).firstIndex { $0.identifier == place.identifier }
    let keepsOrder = source.datastore == table.source?.datastore
    table.show(source, anchor: inserted.map { .staged($0) } ?? .identifier(place.identifier), keepsOrder: keepsOrder)
    table.setAside?.range = nil
  }

  /// Follows a value that is the identifier of a datastore: of the one that it is known to lead to, or of any that has it.
  mutating func follow(_ value: Document, field: String, to target: String?) {
    let place = Inquiry { [origin = session.datastore, shown = session.shown] context throws(ModelError) in
      try context.place(of: value, field: field, origin: origin, target: target, at: shown)
    }
    session.start(.identify, place) { browser, place in
      if let place { return browser.show(place) }
      browser.present(TextOverlay(title: field.isEmpty ? "Value" : field, value: value))
    }
  }

  /// Goes to the record of an identifier as a person types it.
  mutating func goTo(_ identifier: String, in datastore: String) {
    let inserted = session.shownInsertions(datastore).map(\.identifier)
    let place = Inquiry { [commit = session.shown] context throws(ModelError) in
      let stored = try context.datastore(datastore, at: commit)
      let key = try stored.identifier(parsing: identifier)
      let isStored = try stored.replaceable(key) != nil
      guard isStored || inserted.contains(key) else { throw ModelError.noSuchRecord(identifier, datastore: datastore) }
      return RecordPlace(datastore: datastore, identifier: key)
    }
    session.start(.identify, place) { $0.show($1) }
  }
}
