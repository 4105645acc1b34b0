package import Documents

/// Which side of a conflict is kept.
package enum MergeSide: Hashable, Sendable { case base, mine, theirs }

extension EditConflict {
  /// The edit that settles this conflict by a choice per field (`mine` where none is made); where the conflict is one
  /// of whole records, by the choice for the root path. Nil where what lies in the store is kept as it is.
  ///
  /// - Parameter coding: how the datastore's records are written.
  package func resolved(
    by choices: [DocumentPath: MergeSide], coding: RecordCoding
  ) throws(ModelError) -> RecordEdit? {
    let new = fields.isEmpty ? whole(choices[.root] ?? .mine) : try onDocument(fieldByField(choices, coding))
    if new == theirs { return nil }
    return RecordEdit(datastore: place.datastore, identifier: place.identifier, old: theirs, new: new)
  }

  private func whole(_ side: MergeSide) -> RecordContent? {
    switch side {
    case .base: base
    case .mine: mine
    case .theirs: theirs
    }
  }

  private func fieldByField(
    _ choices: [DocumentPath: MergeSide], _ coding: RecordCoding
  ) throws(DocumentError) -> RecordContent? {
    guard let base, let mine, let theirs else { return whole(choices[.root] ?? .mine) }
    let present = try coding.document(of: theirs.bytes)
    var merge = DocumentMerge(
      base: try coding.document(of: base.bytes), mine: try coding.document(of: mine.bytes), theirs: present)
    for overlap in merge.overlaps {
      switch choices[overlap.path] ?? .mine {
      case .base: merge = try merge.choosing(overlap.base, at: overlap.path)
      case .mine: break
      case .theirs: merge = try merge.choosing(overlap.theirs, at: overlap.path)
      }
    }
    return RecordContent(version: mine.version, bytes: try coding.encode(merge.merged, keeping: theirs.bytes))
  }
}
