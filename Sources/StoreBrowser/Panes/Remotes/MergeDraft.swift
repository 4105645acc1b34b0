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
  }

  init(of theirs: String, _ decisions: [RecordPlace: [DocumentPath: MergeDecision]]) {
    self.theirs = theirs
    entries = decisions.flatMap { place, decided in
      decided.map { path, decision in
        let keeps =
          switch decision {
          case .side(let side): side.name
          case .value(let value): "=" + value.compactJSON
          }
        return Entry(
          datastore: place.datastore, identifier: place.identifier.bytes, path: path.description, keeps: keeps)
      }
    }
  }

  func decisions(of rows: [MergeRow]) -> [RecordPlace: [DocumentPath: MergeDecision]] {
    var decisions: [RecordPlace: [DocumentPath: MergeDecision]] = [:]
    let known = Dictionary(rows.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
    for entry in entries {
      let identifier = StoredKey(bytes: entry.identifier, value: .null)
      guard let row = known[RecordPlace(datastore: entry.datastore, identifier: identifier)],
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
  func keepDraft(in session: inout Session) {
    guard let theirs = reply?.plan.theirs.text else { return }
    let draft = decisions.isEmpty ? [] : [MergeDraft(of: theirs, decisions)]
    session.remember { $0.mergeDrafts = $0.mergeDrafts.filter { $0.theirs != theirs }.suffix(9) + draft }
  }

  mutating func restoreDraft(in session: Session) {
    guard let reply else { return }
    let draft = session.remembered.mergeDrafts.last { $0.theirs == reply.plan.theirs.text }
    decisions = draft?.decisions(of: reply.conflicts) ?? [:]
  }
}
