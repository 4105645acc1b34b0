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
    while case let changes = try reader.next(200), !changes.isEmpty {
      try context.goOn()
      for change in changes where datastore == nil || change.datastore == datastore {
        let (old, new): (Document?, Document?)
        do throws(ModelError) { (old, new) = (try change.old?.document(), try change.new?.document()) } catch {
          hits += change.fieldRows().map { PickaxeHit(commit: commit, place: change.place, field: $0) }
          continue
        }
        for field in Document.fieldChanges(from: old, to: new)
        where field.old.contains(needle) || field.new.contains(needle) {
          hits.append(
            PickaxeHit(
              commit: commit, place: change.place, field: FieldRow(field),
              label: (new ?? old).flatMap { naming.label(of: $0, in: change.datastore) }))
        }
      }
    }
    return hits
  }
}

/// A value that was added or removed.
package struct PickaxeHit: Sendable, Hashable {
  package var commit: CommitDetails
  package var place: RecordPlace
  package var field: FieldRow
  var label: String?
}

extension Document? {
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
