package import StrataDocuments

/// Merges two independent changes of one record, given its content before both. Staged changes, transactions that name the commit they read
/// at, and merges of two stores all use it.
///
/// | before | mine | theirs | result | conflict |
/// |---|---|---|---|---|
/// | any | x | x | x | no |
/// | b | b | y | y | no |
/// | b | x | b | x | no |
/// | b | x | y | field by field | fields that both changed, differently |
/// | – | x | y | field by field from nothing | fields that differ |
/// | b | – | y, or the mirror | y: an edit beats a delete | yes |
///
/// Records are equal if their documents and their versions are equal.
package struct RecordMerge {
  package enum Outcome: Hashable, Sendable {
    /// Only mine: theirs is unchanged.
    case mine
    /// Only theirs, or both are equal.
    case theirs
    /// Both changes, merged.
    case merged(RecordContent)
    /// Fields that both changed; none if one side deleted the record, or if the contents cannot be compared field by field.
    case conflict([FieldConflict])
  }

  /// Whether the datastore has indexes whose values may belong to only one record.
  package var hasUniqueIndex: Bool { descriptor.indexes.contains(where: \.isUnique) }
  /// Whether a counter with the same number on both sides was counted on both, as in two stores. An edit that is made again must not count
  /// again.
  package let countsEqualChanges: Bool

  private let descriptor: DatastoreDescriptor
  private let base: RecordContent?
  private let mine: RecordContent?
  private let theirs: RecordContent?

  package init(
    _ descriptor: DatastoreDescriptor, base: RecordContent?, mine: RecordContent?, theirs: RecordContent?,
    countsEqualChanges: Bool = false
  ) {
    self.descriptor = descriptor
    self.countsEqualChanges = countsEqualChanges
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }

  package var outcome: Outcome {
    let isEqual = isSame(mine, theirs)
    if isEqual && !rules.countsEqualChanges || isSame(base, mine) { return .theirs }
    if isSame(base, theirs) { return .mine }
    guard let merge = documents else { return isEqual ? .theirs : .conflict([]) }
    guard merge.overlaps.isEmpty else { return .conflict(merge.overlaps) }
    let merged = encoded(merge)
    if isEqual, isSame(merged, theirs) { return .theirs }
    return merged.map { .merged($0) } ?? .conflict([])
  }

  /// Returns the merge with a side chosen for each overlap, or nil if the contents cannot be merged field by field.
  package func withChoices(_ choose: (FieldConflict) -> MergeSide) -> RecordContent? {
    withValues { choose($0).of(base: $0.base, mine: $0.mine, theirs: $0.theirs) }
  }

  /// Returns the merge with a value for each overlap (nil removes the field), or nil if the contents cannot be merged field by field.
  package func withValues(_ value: (FieldConflict) -> Document?) -> RecordContent? {
    guard var merge = documents else { return nil }
    for overlap in merge.overlaps {
      let chosen = value(overlap)
      // The merged document has my value already.
      guard chosen != overlap.mine else { continue }
      guard let next = try? merge.choosing(chosen, at: overlap.path) else { return nil }
      merge = next
    }
    return encoded(merge)
  }

  package func isSame(_ left: RecordContent?, _ right: RecordContent?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    guard left.version == right.version else { return false }
    if left.bytes == right.bytes { return true }
    guard let left = document(left), let right = document(right) else { return false }
    let rules = self.rules
    return rules.normalized(left) == rules.normalized(right)
  }

  private var rules: MergeRules {
    var rules = descriptor.mergeRules
    if countsEqualChanges { rules.countEqualChanges() }
    return rules
  }

  /// The merge field by field; nil if a side has no record, if the app's versions differ, or if a content does not parse.
  private var documents: DocumentMerge? {
    guard let mine, let theirs, (base ?? mine).version == theirs.version, mine.version == theirs.version,
      let wanted = document(mine), let present = document(theirs)
    else { return nil }
    var before = Document.object([])
    if let base {
      guard let document = document(base) else { return nil }
      before = document
    }
    return DocumentMerge(base: before, mine: wanted, theirs: present, rules: rules)
  }

  private func encoded(_ merge: DocumentMerge) -> RecordContent? {
    guard let mine, let theirs,
      let bytes = try? descriptor.coding(of: theirs.bytes).encode(merge.merged, keeping: theirs.bytes)
    else { return nil }
    return RecordContent(version: mine.version, bytes: bytes)
  }

  package func document(_ content: RecordContent) -> Document? {
    let coding = descriptor.coding(of: content.bytes)
    return coding == .opaque ? nil : try? coding.document(of: content.bytes)
  }
}

extension DatastoreDescriptor {
  /// The app's declared rules for merging fields that both sides changed.
  package var mergeRules: MergeRules {
    MergeRules(rules(in: "mergeRules"), unordered: unorderedFields)
  }

  /// - Parameter rules: by the paths of fields; an empty dictionary removes the declaration.
  package mutating func setMergeRules(_ rules: [String: String]) { set(rules, in: "mergeRules") }

  /// Fields that are unordered lists, by their paths: `set`, or `pairs` for a dictionary whose keys are not strings.
  package var unorderedFields: [String: String] {
    get { rules(in: "unordered") }
    set { set(newValue, in: "unordered") }
  }

  private func rules(in member: String) -> [String: String] {
    guard case .object(let members)? = unknown[member] else { return [:] }
    let rules = members.compactMap { member -> (String, String)? in
      if case .string(let rule) = member.value { (member.name, rule) } else { nil }
    }
    return Dictionary(rules) { _, last in last }
  }

  private mutating func set(_ rules: [String: String], in member: String) {
    unknown[member] = rules.isEmpty ? nil : .object(rules.map { .init($0.key, .string($0.value)) })
  }
}
