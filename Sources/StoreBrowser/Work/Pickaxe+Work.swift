import StrataDocuments
package import StrataModel

/// Searches values through the history: the commits that added or removed a text.
package struct PickaxeRequest: Question, Hashable {
  package var text: String
  package var datastore: String?
  package var newest: CommitNumber
  package var naming = Naming()

  /// Reports hits as they are found, and returns how many commits were read.
  package func reply(in context: WorkContext) throws(ModelError) -> Int {
    let needle = text.lowercased()
    var open = [newest]
    var read = 0
    while !open.isEmpty {
      let page = try context.store.commitPage(from: open, limit: 100, folded: false)
      for commit in page.commits
      where datastore == nil || commit.changes.contains(where: { $0.datastore == datastore }) {
        try context.goOn()
        let hits = try hits(of: needle, in: commit, context)
        read += 1
        if !hits.isEmpty || read.isMultiple(of: 16) {
          context.report(Progress(done: read, total: nil, found: hits.isEmpty ? .nothing : .hits(hits)))
        }
      }
      open = page.next
    }
    return read
  }

  private func hits(
    of needle: String, in commit: CommitDetails, _ context: WorkContext
  ) throws(ModelError) -> [PickaxeHit] {
    let reader = try context.store.changes(of: commit.number)
    var hits: [PickaxeHit] = []
    while true {
      try context.goOn()
      let changes = try reader.next(200)
      if changes.isEmpty { return hits }
      for change in changes where datastore == nil || change.datastore == datastore {
        let old = try change.old?.document()
        let new = try change.new?.document()
        for field in Self.leafDifference(old, new) where field.old.contains(needle) || field.new.contains(needle) {
          hits.append(
            PickaxeHit(
              commit: commit, place: RecordPlace(datastore: change.datastore, identifier: change.identifier),
              path: field.path, old: field.old.shown, new: field.new.shown,
              label: (new ?? old).flatMap { naming.label(of: $0, in: change.datastore) }))
        }
      }
    }
  }

  private static func leafDifference(
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

/// A value that was added or removed.
package struct PickaxeHit: Sendable, Hashable {
  package var commit: CommitDetails
  package var place: RecordPlace
  package var path: String
  var old: ValueText?
  var new: ValueText?
  var label: String?
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
