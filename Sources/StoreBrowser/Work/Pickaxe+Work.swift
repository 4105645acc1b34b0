import StrataDocuments
package import StrataModel

/// Searches values through the history: the commits that added or removed a text.
package struct PickaxeRequest: Sendable, Hashable {
  package var text: String
  package var datastore: String?
  package var newest: CommitNumber
  package var naming = Naming()
}

package struct PickaxeAnswer: Sendable {
  package var request: PickaxeRequest
  package var commitsRead: Int
}

/// A value that was added or removed.
package struct PickaxeHit: Sendable, Hashable {
  package var commit: CommitDetails
  package var place: RecordPlace
  package var path: String
  var old: ValueText?
  var new: ValueText?
  /// The label of the record.
  var label: String?
}

extension PickaxeRequest: Question {
  package func reply(in context: WorkContext) throws(ModelError) -> PickaxeAnswer { try context.pickaxe(self) }
}

extension WorkContext {
  /// Hits are reported as they are found.
  func pickaxe(_ request: PickaxeRequest) throws(ModelError) -> PickaxeAnswer {
    let needle = request.text.lowercased()
    var open = [request.newest]
    var read = 0
    while !open.isEmpty {
      let page = try store.commitPage(from: open, limit: 100, folded: false)
      for commit in page.commits
      where request.datastore == nil || commit.changes.contains(where: { $0.datastore == request.datastore }) {
        try goOn()
        let hits = try hits(of: needle, in: commit, request)
        read += 1
        if !hits.isEmpty || read.isMultiple(of: 16) {
          report(Progress(done: read, total: nil, found: hits.isEmpty ? .nothing : .hits(hits)))
        }
      }
      open = page.next
    }
    return PickaxeAnswer(request: request, commitsRead: read)
  }

  fileprivate func hits(
    of needle: String, in commit: CommitDetails, _ request: PickaxeRequest
  ) throws(ModelError) -> [PickaxeHit] {
    let reader = try store.changes(of: commit.number)
    var hits: [PickaxeHit] = []
    while true {
      try goOn()
      let changes = try reader.next(200)
      if changes.isEmpty { return hits }
      for change in changes where request.datastore == nil || change.datastore == request.datastore {
        let old = try change.old?.document()
        let new = try change.new?.document()
        for field in Self.leafDifference(old, new) where field.old.contains(needle) || field.new.contains(needle) {
          hits.append(
            PickaxeHit(
              commit: commit, place: RecordPlace(datastore: change.datastore, identifier: change.identifier),
              path: field.path, old: field.old.shown, new: field.new.shown,
              label: (new ?? old).flatMap { request.naming.label(of: $0, in: change.datastore) }))
        }
      }
    }
  }

  fileprivate static func leafDifference(
    _ old: Document?, _ new: Document?
  ) -> [(path: String, old: Document?, new: Document?)] {
    switch (old, new) {
    case (let old?, let new?):
      return Document.difference(old, new).map { ($0.path.description, $0.old, $0.new) }
    case (let old?, nil): return old.fields.map { ($0.path.description, $0.value, nil) }
    case (nil, let new?): return new.fields.map { ($0.path.description, nil, $0.value) }
    case (nil, nil): return []
    }
  }
}

extension Document? {
  fileprivate var shown: ValueText? { map(ValueText.init(literal:)) }

  /// Whether the text of the value holds another, already in lower case.
  fileprivate func contains(_ needle: String) -> Bool {
    guard let self else { return false }
    return self.searchText.lowercased().contains(needle)
  }
}

extension Document {
  var searchText: String {
    switch self {
    case .string(let text): text
    default: ValueText(literal: self).text
    }
  }
}
