package import StrataModel
package import StrataDocuments

/// A record that both sides changed in ways that exclude one another, and the choices for it so far.
package struct MergeConflict: Sendable, Equatable {
  package let place: RecordPlace
  package let base: RecordContent?
  package let ours: RecordContent?
  package let theirs: RecordContent?
  /// Fields that both changed, with ours as `mine`; none if one side deleted the record, or if the contents cannot be merged field by
  /// field.
  package let fields: [FieldConflict]
  /// The reason of the conflict if the records do not show it, as a sentence: a value that a unique index has already.
  package let reason: String?
  /// The content of the record if no other had its value of a unique index; nil for all other conflicts.
  package internal(set) var collision: Collision?
  /// The choices for single fields.
  package private(set) var choices: [DocumentPath: MergeSide] = [:]
  private var whole: Whole?
  private let merge: RecordMerge
  private let isOursFirst: Bool
  /// Checks a merged content, if the app's types are there.
  private let format: (any CompiledFormat)?

  /// A record that would have a value of a unique index that other records have.
  package struct Collision: Sendable {
    package var content: RecordContent
    package var rivals: [(place: RecordPlace, content: RecordContent)]
  }

  private enum Whole: Sendable, Hashable {
    case side(MergeSide)
    case content(RecordContent?)
  }

  init(
    place: RecordPlace, base: RecordContent?, ours: RecordContent?, theirs: RecordContent?, fields: [FieldConflict],
    merge: RecordMerge, isOursFirst: Bool, reason: String? = nil, format: (any CompiledFormat)? = nil
  ) {
    self.place = place
    self.base = base
    self.ours = ours
    self.theirs = theirs
    self.fields =
      isOursFirst
      ? fields
      : fields.map { FieldConflict(path: $0.path, base: $0.base, mine: $0.theirs, theirs: $0.mine) }
    self.merge = merge
    self.isOursFirst = isOursFirst
    self.reason = reason
    self.format = format
  }

  // MARK: Choosing

  /// Takes one side for all that conflicts: for every field that both changed, while changes of one side alone stay; or the whole record if
  /// there are no such fields. `mine` is ours. A collision stays open: only another value settles it.
  package mutating func choose(_ side: MergeSide) {
    if isCollision { return }
    whole = nil
    choices = Dictionary(fields.map { ($0.path, side) }) { first, _ in first }
    if fields.isEmpty || result == nil { choose(whole: side) }
  }

  /// Takes the record of one side, without changes of the other.
  package mutating func choose(whole side: MergeSide) {
    if !isCollision { whole = .side(side) }
  }

  /// Takes a side for one field that both changed.
  ///
  /// - Throws: `ModelError.refused` if the record cannot hold it, or if it is the last choice and the record does not decode with all.
  package mutating func choose(_ side: MergeSide, for field: DocumentPath) throws(ModelError) {
    guard fields.contains(where: { $0.path == field }) else {
      throw .refused(reason: "\(field) does not conflict in \(place.datastore)/\(place.identifier)")
    }
    let (known, before) = (choices, whole)
    whole = nil
    choices[field] = side
    if preview == nil || choices.count == fields.count && !isSettled {
      (choices, whole) = (known, before)
      throw .refused(reason: "\(place.datastore)/\(place.identifier) cannot hold this \(field)")
    }
  }

  /// Takes a content that a user wrote; nil deletes the record.
  package mutating func choose(content: RecordContent?) {
    whole = .content(content)
    choices = [:]
  }

  // MARK: Result

  /// Whether it is settled as the other side has it, and the record needs no check against others: then the record is taken over as stored
  /// there. With a unique index, the writer of all edits checks the values together.
  var isTakenOver: Bool { isSettled && result == theirs && !merge.hasUniqueIndex }

  /// Whether a counter counts the changes of both sides also if they are equal.
  package var countsEqualChanges: Bool { merge.countsEqualChanges }

  /// Whether it would have a value of a unique index that another record has: taking either side would lose one of them.
  package var isCollision: Bool { collision != nil }

  package var isSettled: Bool {
    if whole != nil { return true }
    guard !fields.isEmpty, fields.allSatisfy({ choices[$0.path] != nil }) else { return false }
    return format == nil || preview.map { (try? format?.keys(of: $0)) != nil } == true
  }

  /// The result if it is settled; nil deletes the record.
  package var result: RecordContent? { isSettled ? preview : nil }

  /// The result so far, with ours for all that is not chosen yet.
  package var preview: RecordContent? {
    switch whole {
    case .content(let content): return content
    case .side(let side): return side.of(base: base, mine: ours, theirs: theirs)
    case nil: return fields.isEmpty ? ours ?? theirs : merge.withChoices { choice($0.path) }
    }
  }

  /// The choice as the merge has it, whose sides may be the other way round.
  private func choice(_ field: DocumentPath) -> MergeSide {
    let side = choices[field] ?? .mine
    return isOursFirst ? side : side.of(base: .base, mine: .theirs, theirs: .mine)
  }

  /// The document of a content, or its bytes if it is of another coding.
  package func document(of content: RecordContent) -> Document { merge.document(content) ?? .data(content.bytes) }

  package var sentence: String {
    if let reason { return reason }
    let name = "\(place.datastore)/\(place.identifier)"
    switch (ours, theirs) {
    case (nil, _): return "\(name) was deleted here and edited there"
    case (_, nil): return "\(name) was edited here and deleted there"
    default:
      return fields.isEmpty
        ? "\(name) was changed on both sides"
        : "\(name) was changed on both sides in \(fields.map(\.path.description).joined(separator: ", "))"
    }
  }

  // Two conflicts are equal if their records and conflicting fields are, whatever was chosen.

  package static func == (left: Self, right: Self) -> Bool {
    left.place == right.place && left.base == right.base && left.ours == right.ours && left.theirs == right.theirs
      && left.fields == right.fields
  }
}
