import DatastoreModel

/// Two changes of a datastore's descriptor, merged member by member and index by index. Where both changed the same, ours stays, and a note
/// says so: a definition never keeps the data from merging.
struct DescriptorMerge {
  let base: DatastoreDescriptor?
  let ours: DatastoreDescriptor
  let theirs: DatastoreDescriptor

  /// What comes out; nil where ours stays as it is.
  func merged(_ notes: inout [String]) -> DatastoreDescriptor? {
    if theirs == ours || theirs == base { return nil }
    var merged = ours
    func take<Value: Equatable>(_ member: WritableKeyPath<DatastoreDescriptor, Value>) -> Bool {
      let (mine, other) = (ours[keyPath: member], theirs[keyPath: member])
      guard mine != other, base?[keyPath: member] != other else { return true }
      guard base?[keyPath: member] == mine else { return false }
      merged[keyPath: member] = other
      return true
    }
    if !take(\.version) { notes.append(note("version")) }
    if !take(\.versionIsString) || !take(\.instanceType) { notes.append(note("type")) }
    if !take(\.identifierPath) { notes.append(note("identifier")) }
    if !take(\.unknown) { notes.append(note("rules")) }
    for name in Set(ours.indexes.map(\.name)).union(theirs.indexes.map(\.name)).sorted() {
      let (before, mine, other) = (base?.index(name), ours.index(name), theirs.index(name))
      if mine == other || other == before || Self.isSame(mine, other) { continue }
      if mine == before {
        merged.setIndex(name, to: other)
      } else {
        notes.append(note("index \(name)"))
      }
    }
    return merged == ours ? nil : merged
  }

  /// Whether two differ only in what a warm-up will mend.
  private static func isSame(_ left: IndexDescriptor?, _ right: IndexDescriptor?) -> Bool {
    guard var left, var right else { return false }
    left.isStale = false
    right.isStale = false
    (left.version, right.version) = ("", "")
    return left == right
  }

  private func note(_ what: String) -> String {
    "\(ours.key): both sides changed the \(what); ours stays"
  }
}
