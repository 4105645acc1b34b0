package import StrataModel
import StrataDocuments

/// A definition that both sides changed in ways that exclude one another. It keeps no data from merging: one side's definition is taken,
/// ours unless a policy says otherwise.
package struct DefinitionConflict: Hashable, Sendable {
  /// The kind of definition that two sides changed.
  package enum Subject: Hashable, Sendable {
    case version, type, coding, identifier, rules
    case index(String)
    /// Whether the datastore exists at all; edited records stay.
    case datastore
  }

  package var datastore: String
  package var subject: Subject
  /// The definition for people to read; nil if that side dropped it.
  package var ours: String?
  package var theirs: String?
  /// The side whose definition is taken.
  package var taken: MergeSide
  /// Whether a policy decided that.
  package var isSettled: Bool

  package var sentence: String {
    if subject == .datastore {
      let (here, there) = ours == nil ? ("dropped", "edited") : ("edited", "dropped")
      return "\(datastore) was \(here) here and \(there) there: it is kept"
    }
    let stands = taken == .theirs ? "theirs is taken" : "ours stays"
    let both = "ours \(ours ?? "dropped"), theirs \(theirs ?? "dropped")"
    return "\(datastore): both sides changed the \(name) (\(both)); \(stands)"
  }

  /// `index population`, `version`.
  package var name: String {
    if case .index(let name) = subject { "index \(name)" } else { "\(subject)" }
  }
}

/// Two changes of a datastore's descriptor, merged member by member and index by index.
struct DescriptorMerge {
  let base: DatastoreDescriptor?
  let ours: DatastoreDescriptor
  let theirs: DatastoreDescriptor
  let policy: MergePolicy

  /// The merged descriptor, nil if ours stays as it is; and the definitions that both sides changed differently.
  func merged() -> (descriptor: DatastoreDescriptor?, conflicts: [DefinitionConflict]) {
    let halfStale = ours.indexes.filter { mine in
      theirs.index(mine.name).map { Self.isSame(mine, $0) && mine.isStale != $0.isStale } ?? false
    }
    if halfStale.isEmpty, theirs == ours || theirs == base { return (nil, []) }
    var merged = ours
    var conflicts: [DefinitionConflict] = []
    func clash(_ subject: DefinitionConflict.Subject, _ mine: String?, _ other: String?) {
      conflicts.append(
        DefinitionConflict(
          datastore: ours.key, subject: subject, ours: mine, theirs: other,
          taken: policy == .theirs ? .theirs : .mine, isSettled: policy == .ours || policy == .theirs))
    }
    func merge<Value: Equatable>(
      _ member: WritableKeyPath<DatastoreDescriptor, Value>, _ subject: DefinitionConflict.Subject,
      shown: (DatastoreDescriptor) -> String
    ) {
      let (mine, other) = (ours[keyPath: member], theirs[keyPath: member])
      guard mine != other, base?[keyPath: member] != other else { return }
      let isClash = base?[keyPath: member] != mine
      if isClash, conflicts.last?.subject != subject { clash(subject, shown(ours), shown(theirs)) }
      if !isClash || policy == .theirs { merged[keyPath: member] = other }
    }
    merge(\.version, .version) { $0.version }
    merge(\.versionIsString, .type) { $0.instanceType }
    merge(\.instanceType, .type) { $0.instanceType }
    merge(\.coding, .coding) { $0.coding.rawValue }
    merge(\.identifierPath, .identifier) { $0.identifierPath ?? "none" }
    merge(\.unknown, .rules) { $0.unknown.keys.sorted().joined(separator: " ") }
    for name in Set(ours.indexes.map(\.name)).union(theirs.indexes.map(\.name)).sorted() {
      let (before, mine, other) = (base?.index(name), ours.index(name), theirs.index(name))
      if Self.isSame(mine, other) || Self.isSame(other, before) { continue }
      let isClash = !Self.isSame(mine, before)
      if isClash { clash(.index(name), mine.map(Self.shown), other.map(Self.shown)) }
      if !isClash || policy == .theirs { merged.setIndex(name, to: other) }
    }
    // The merge must come out the same, whichever side a store has first. A rebuild mends the index.
    merged.markStale(halfStale.map(\.name))
    return (merged == ours && halfStale.isEmpty ? nil : merged, conflicts)
  }

  /// `one-to-many integer over .population`
  private static func shown(_ index: IndexDescriptor) -> String {
    let path = (index.rule ?? index.keyPathName).map { " over \($0)" } ?? ""
    return "\(index.kind.rawValue) \(index.encoding)\(path)"
  }

  /// Whether two are missing, or differ only in members that a warm-up will mend.
  private static func isSame(_ left: IndexDescriptor?, _ right: IndexDescriptor?) -> Bool {
    guard let left, var right else { return left == nil && right == nil }
    (right.isStale, right.version) = (left.isStale, left.version)
    return left == right
  }
}
