package import Documents

/// Two changes of one record that know nothing of one another, and what it was before both: the one place that says what becomes of them,
/// for staged changes, transactions that name the commit they read at, and merges of two stores.
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
/// Records are equal where their documents are, and their versions.
package struct RecordMerge {
  package enum Outcome: Hashable, Sendable {
    /// Nothing but mine: theirs is as it was before.
    case mine
    /// Nothing but theirs, or both the same.
    case theirs
    /// Both, put together.
    case merged(RecordContent)
    /// Fields that both changed; none where one side deleted the record, or the contents cannot be compared field by field.
    case conflict([FieldConflict])
  }

  /// Whether the datastore has indexes whose values belong to one record alone.
  package var hasUniqueIndex: Bool { descriptor.indexes.contains(where: \.isUnique) }

  private let descriptor: DatastoreDescriptor
  private let base: RecordContent?
  private let mine: RecordContent?
  private let theirs: RecordContent?

  package init(
    _ descriptor: DatastoreDescriptor, base: RecordContent?, mine: RecordContent?, theirs: RecordContent?
  ) {
    self.descriptor = descriptor
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }

  package var outcome: Outcome {
    if isSame(mine, theirs) || isSame(base, mine) { return .theirs }
    if isSame(base, theirs) { return .mine }
    guard let merge = documents else { return .conflict([]) }
    guard merge.overlaps.isEmpty else { return .conflict(merge.overlaps.map { FieldConflict($0) }) }
    return encoded(merge).map { .merged($0) } ?? .conflict([])
  }

  /// The merge with each overlap decided, nil leaving the field out; nil where the contents cannot be merged field by field.
  package func settled(_ choose: (FieldConflict) -> MergeSide?) -> RecordContent? {
    withValues { field in
      switch choose(field) {
      case .mine: field.mine
      case .theirs: field.theirs
      case .base: field.base
      case nil: nil
      }
    }
  }

  /// The merge with each overlap decided by a side or by a value; nil where the contents cannot be merged field by field.
  package func withChoices(_ choose: (FieldConflict) -> FieldChoice) -> RecordContent? {
    withValues { field in
      switch choose(field) {
      case .side(.mine): field.mine
      case .side(.theirs): field.theirs
      case .side(.base): field.base
      case .value(let given): given
      }
    }
  }

  /// The merge with a value for each overlap, nil leaving the field out; nil where the contents cannot be merged field by field.
  package func withValues(_ value: (FieldConflict) -> Document?) -> RecordContent? {
    guard var merge = documents else { return nil }
    for overlap in merge.overlaps {
      let chosen = value(FieldConflict(overlap))
      // What is mine stands there already.
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
    let rules = descriptor.mergeRules
    return rules.normalized(left) == rules.normalized(right)
  }

  /// Field by field; nil where one side has no record, where an app's other version wrote one, or where one does not parse.
  private var documents: DocumentMerge? {
    guard let mine, let theirs, (base ?? mine).version == theirs.version, mine.version == theirs.version,
      let wanted = document(mine), let present = document(theirs)
    else { return nil }
    var before = Document.object([])
    if let base {
      guard let document = document(base) else { return nil }
      before = document
    }
    return DocumentMerge(base: before, mine: wanted, theirs: present, rules: descriptor.mergeRules)
  }

  private func encoded(_ merge: DocumentMerge) -> RecordContent? {
    guard let mine, let theirs,
      let bytes = try? descriptor.coding(of: theirs.bytes).encode(merge.merged, keeping: theirs.bytes)
    else { return nil }
    return RecordContent(version: mine.version, bytes: bytes)
  }

  private func document(_ content: RecordContent) -> Document? {
    let coding = descriptor.coding(of: content.bytes)
    return coding == .opaque ? nil : try? coding.document(of: content.bytes)
  }
}

/// What becomes of a field that both sides changed.
package enum FieldChoice: Hashable, Sendable {
  case side(MergeSide)
  /// A value that somebody gave; nil leaves the field out.
  case value(Document?)
}

extension FieldConflict {
  fileprivate init(_ overlap: DocumentMerge.Overlap) {
    self.init(path: overlap.path, base: overlap.base, mine: overlap.mine, theirs: overlap.theirs)
  }
}

extension DatastoreDescriptor {
  /// How fields are merged that both sides changed, as the app declares it.
  package var mergeRules: MergeRules {
    MergeRules(rules(in: "mergeRules"), unordered: unorderedFields)
  }

  /// - Parameter rules: by the paths of fields; none takes the declaration away.
  package mutating func setMergeRules(_ rules: [String: String]) { set(rules, in: "mergeRules") }

  /// Fields that are lists in any order, by their paths: `set`, or `pairs` for a dictionary whose keys are no texts.
  package var unorderedFields: [String: String] {
    get { rules(in: "unordered") }
    set { set(newValue, in: "unordered") }
  }

  private func rules(in member: String) -> [String: String] {
    guard case .object(let members)? = unknown[member] else { return [:] }
    return members.compactMapValues { if case .string(let rule) = $0 { rule } else { nil } }
  }

  private mutating func set(_ rules: [String: String], in member: String) {
    unknown[member] = rules.isEmpty ? nil : .object(rules.mapValues { .string($0) })
  }
}
