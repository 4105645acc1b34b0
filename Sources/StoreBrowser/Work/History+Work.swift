import Documents
package import DatastoreModel

/// Whose history is looked at.
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
    switch self {
    case .store: nil
    case .datastore(let key): key
    case .record(let place), .field(let place, _): place.datastore
    }
  }
}

/// A page of a history, newest first.
package struct HistoryRequest: Sendable, Hashable {
  package var scope: HistoryScope
  package var newest: CommitNumber
  package var page: Int
  package var isFolded: Bool
  package var limit: Int
}

package struct HistoryAnswer: Sendable {
  package var request: HistoryRequest
  package var rows: [HistoryRow]
  /// Where the next older page begins; nil at the end.
  package var next: CommitNumber?
}

/// A commit, with the value that it gave where the history is a field's.
package struct HistoryRow: Sendable, Hashable {
  package var commit: Commit
  var value: ValueText?
}

extension WorkContext {
  func history(_ request: HistoryRequest) throws(ModelError) -> HistoryAnswer {
    switch request.scope {
    case .store: try commitPage(request) { _ in true }
    case .datastore(let key): try commitPage(request) { $0.changes.contains { $0.datastore == key } }
    case .record(let place): try versionPage(request, of: place, path: nil)
    case .field(let place, let path): try versionPage(request, of: place, path: path)
    }
  }

  private func commitPage(
    _ request: HistoryRequest, keeping isKept: (Commit) -> Bool
  ) throws(ModelError) -> HistoryAnswer {
    var answer = HistoryAnswer(request: request, rows: [], next: request.newest)
    while let newest = answer.next, answer.rows.count < request.limit {
      try goOn()
      let commits = try store.commits(from: newest, limit: request.limit, folded: request.isFolded)
      answer.next = nil
      for (position, commit) in commits.enumerated() where isKept(commit) {
        answer.rows.append(HistoryRow(commit: commit, value: nil))
        guard answer.rows.count == request.limit else { continue }
        answer.next = position + 1 < commits.count ? commits[position + 1].number : commit.parents.first
        return answer
      }
      if commits.count == request.limit { answer.next = commits.last?.parents.first }
    }
    return answer
  }

  /// The states of a record; of a field only those that gave it another value.
  private func versionPage(
    _ request: HistoryRequest, of place: RecordPlace, path: String?
  ) throws(ModelError) -> HistoryAnswer {
    var answer = HistoryAnswer(request: request, rows: [], next: request.newest)
    let path = try path.map { text throws(ModelError) in try Self.path(text) }
    var later: (commit: Commit, value: Document?)?
    while let newest = answer.next, answer.rows.count < request.limit {
      try goOn()
      let versions = try store.versions(of: place.identifier, in: place.datastore, from: newest, limit: 100)
      answer.next = versions.count == 100 ? versions.last?.commit.parents.first : nil
      for version in versions {
        guard let path else {
          let text = version.record == nil ? ValueText(text: "deleted", kind: .missing) : nil
          answer.rows.append(HistoryRow(commit: version.commit, value: text))
          continue
        }
        let value = try version.record?.document()[path]
        if let later, later.value != value {
          answer.rows.append(HistoryRow(commit: later.commit, value: ValueText(cell: later.value)))
        }
        later = (version.commit, value)
      }
    }
    if let later, later.value != nil {
      answer.rows.append(HistoryRow(commit: later.commit, value: ValueText(cell: later.value)))
    }
    return answer
  }

  static func path(_ text: String) throws(ModelError) -> DocumentPath {
    guard let path = try? DocumentPath(parsing: text) else {
      throw .invalid(text: text, column: 1, reason: "“\(text)” is no path; a path is written .name or .list[0].part")
    }
    return path
  }
}
