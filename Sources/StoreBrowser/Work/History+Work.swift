import StrataDocuments
package import StrataModel

/// The scope of the shown history.
package enum HistoryScope: Sendable, Hashable {
  case store
  case datastore(String)
  case record(RecordPlace)
  case field(RecordPlace, path: String)

  var place: RecordPlace? {
    switch self {
    case .store, .datastore: nil
    case .record(let place), .field(let place, _): place
    }
  }

  var datastore: String? {
    if case .datastore(let key) = self { return key }
    return place?.datastore
  }
}

/// A state of the history: another one if there are new commits, or if older ones were removed.
package struct HistoryEdition: Sendable, Hashable {
  var head: CommitNumber
  var generation: UInt64
}

/// Reads a page of a history, newest first.
package struct HistoryRequest: Question, Hashable {
  package var scope: HistoryScope
  package var start: HistoryStart
  package var page: Int
  package var isFolded: Bool
  package var limit: Int

  package func reply(in context: WorkContext) throws(ModelError) -> HistoryAnswer {
    switch scope {
    case .store: try context.commitPage(self, hasGraph: true) { _ in true }
    case .datastore(let key):
      try context.commitPage(self, hasGraph: false) { $0.changes.contains { $0.datastore == key } }
    case .record(let place): try context.versionPage(self, of: place, path: nil)
    case .field(let place, let path): try context.versionPage(self, of: place, path: path)
    }
  }
}

/// The start of a page of a history: the newest commit of each open branch, and the lanes that lead there.
package struct HistoryStart: Sendable, Hashable {
  var open: [CommitNumber]
  var lanes = HistoryLanes()
}

package struct HistoryAnswer: Sendable {
  package var request: HistoryRequest
  package var rows: [HistoryRow]
  /// The start of the next older page; nil at the end.
  package var next: HistoryStart?
}

/// A commit, with the value that it set if the history is a field's.
package struct HistoryRow: Sendable, Hashable {
  package var commit: CommitDetails
  var value: ValueText?
  /// Its place in the graph; nil if the rows are not all commits.
  var graph: GraphRow?
  /// Its parents, as far as they are shown.
  var parents: [CommitNumber] = []
}

extension WorkContext {
  fileprivate func commitPage(
    _ request: HistoryRequest, hasGraph: Bool, keeping isKept: (CommitDetails) -> Bool
  ) throws(ModelError) -> HistoryAnswer {
    var answer = HistoryAnswer(request: request, rows: [], next: request.start)
    while let start = answer.next, answer.rows.count < request.limit {
      try goOn()
      let page = try store.commitPage(
        from: start.open, limit: request.limit - answer.rows.count, folded: request.isFolded)
      var lanes = start.lanes
      for commit in page.commits where isKept(commit) {
        var row = HistoryRow(commit: commit, value: nil)
        row.parents = commit.parents.map { page.passed.end(of: $0) }
        if hasGraph { row.graph = lanes.row(of: commit, passing: page.passed) }
        answer.rows.append(row)
      }
      answer.next = page.next.isEmpty ? nil : HistoryStart(open: page.next, lanes: lanes)
    }
    return answer
  }

  /// The states of a record; for a field only those that changed its value.
  fileprivate func versionPage(
    _ request: HistoryRequest, of place: RecordPlace, path: String?
  ) throws(ModelError) -> HistoryAnswer {
    let path = try path.map { text throws(ModelError) in try Self.path(text) }
    var answer = HistoryAnswer(request: request, rows: [], next: nil)
    var versions = try VersionLines(of: place, in: store, from: request.start.open)
    while answer.rows.count < request.limit, let (version, older) = try versions.next() {
      try goOn()
      var text = version.isDeletion ? ValueText(text: "deleted", kind: .missing) : nil
      do throws(ModelError) {
        let document = try version.record?.document()
        if let path {
          let value = document?[path]
          if older.isEmpty ? value == nil : older.contains(where: { $0.has(value, at: path) }) { continue }
          text = ValueText(cell: value).visible
        }
      } catch {
        text = ValueText(unreadable: error)
      }
      answer.rows.append(HistoryRow(commit: version.commit, value: text))
    }
    let open = versions.upcoming.map(\.commit.number)
    if !open.isEmpty { answer.next = HistoryStart(open: open) }
    return answer
  }

  static func path(_ text: String) throws(ModelError) -> DocumentPath {
    guard let path = try? DocumentPath(named: text) else {
      throw .invalid(text: text, column: 1, reason: "“\(text)” is not a path; a path is written .name or .list[0].part")
    }
    return path
  }

  /// Whether a written path is that of a field or lies in it.
  static func isPath(_ text: String, in field: DocumentPath) -> Bool {
    text == field.description || text.hasPrefix("\(field).")
  }
}

extension [CommitNumber: CommitNumber] {
  /// The shown commit that stands for one that was left out.
  func end(of number: CommitNumber) -> CommitNumber {
    var number = number
    while let next = self[number] { number = next }
    return number
  }
}
