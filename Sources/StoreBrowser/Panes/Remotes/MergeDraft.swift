import StrataModel
import StrataDocuments
import StrataExchange

/// The decisions of a merge that is not committed yet, kept between two starts.
package struct MergeDraft: Sendable, Hashable, Codable {
  /// The identity of the commit to be merged.
  var theirs: String
  var entries: [Entry]

  struct Entry: Sendable, Hashable, Codable {
    var datastore: String
    var identifier: [UInt8]
    var path: String
    /// `base`, `ours`, `theirs`, or a value as JSON.
    var keeps: String

    var place: RecordPlace {
      RecordPlace(datastore: datastore, identifier: StoredKey(bytes: identifier, value: .null))
    }
  }

  /// Takes over the decisions about some records.
  mutating func keep(_ decisions: [RecordPlace: [DocumentPath: MergeDecision]], of places: Set<RecordPlace>) {
    entries.removeAll { places.contains($0.place) }
    for place in places {
      for (path, decision) in decisions[place] ?? [:] {
        let keeps =
          switch decision {
          case .side(let side): side.name
          case .value(let value): "=" + value.compactJSON
          }
        let identifier = place.identifier.bytes
        entries.append(
          Entry(datastore: place.datastore, identifier: identifier, path: path.description, keeps: keeps))
      }
    }
  }

  func decisions(of rows: [MergeRow]) -> [RecordPlace: [DocumentPath: MergeDecision]] {
    var decisions: [RecordPlace: [DocumentPath: MergeDecision]] = [:]
    let known = Dictionary(rows.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
    for entry in entries {
      guard let row = known[entry.place],
        let path = entry.path == "." ? .root : try? DocumentPath(parsing: entry.path)
      else { continue }
      guard path == .root || row.conflict.isCollision || row.conflict.fields.contains(where: { $0.path == path })
      else { continue }
      if let side = [MergeSide.base, .mine, .theirs].first(where: { $0.name == entry.keeps }) {
        decisions[row.place, default: [:]][path] = .side(side)
      } else if let value = try? JSONParser.parse(String(entry.keeps.dropFirst())) {
        decisions[row.place, default: [:]][path] = .value(value)
      }
    }
    return decisions
  }
}

extension MergeSide {
  /// As a merge calls it, and as a draft keeps it.
  var name: String { of(base: "base", mine: "ours", theirs: "theirs") }
}

extension MergePane {
  /// Keeps the decisions about some records. Those about others are kept already.
  func keepDraft(of places: Set<RecordPlace>, in session: inout Session) {
    guard let theirs = reply?.plan.theirs.text else { return }
    session.remember { [decisions] remembered in
      var drafts = remembered.mergeDrafts
      var draft = drafts.last { $0.theirs == theirs } ?? MergeDraft(theirs: theirs, entries: [])
      draft.keep(decisions, of: places)
      drafts.removeAll { $0.theirs == theirs }
      remembered.mergeDrafts = drafts.suffix(9) + (decisions.isEmpty ? [] : [draft])
    }
  }

  mutating func restoreDraft(in session: Session) {
    guard let reply else { return }
    let draft = session.remembered.mergeDrafts.last { $0.theirs == reply.plan.theirs.text }
    decisions = draft?.decisions(of: reply.conflicts) ?? [:]
  }
}
