/// Two edits of one document put together, field by field.
///
/// A field is a member of an object, or an element of a list whose length neither side changed; a list that became
/// longer or shorter is one field, because its elements have no names.
package struct DocumentMerge: Sendable {
  /// The document with both edits; where they conflict, as `mine` has it. Nil where `mine` deletes it.
  package private(set) var merged: Document?
  package private(set) var conflicts: [FieldConflict] = []

  package init(base: Document?, mine: Document?, theirs: Document?) {
    merged = nil
    merged = merge(base, mine, theirs, at: DocumentPath(components: []))
  }

  private mutating func merge(
    _ base: Document?, _ mine: Document?, _ theirs: Document?, at path: DocumentPath
  ) -> Document? {
    if mine == theirs || base == theirs { return mine }
    if base == mine { return theirs }
    if case .object(let mineMembers)? = mine, case .object(let theirMembers)? = theirs {
      return mergeMembers(base, mineMembers, theirMembers, at: path)
    }
    if case .array(let base)? = base, case .array(let mine)? = mine, case .array(let theirs)? = theirs,
      base.count == mine.count, base.count == theirs.count
    {
      return .array(base.indices.compactMap { merge(base[$0], mine[$0], theirs[$0], at: path.appending(.index($0))) })
    }
    conflicts.append(FieldConflict(path: path, base: base, mine: mine, theirs: theirs))
    return mine
  }

  /// Members in their order of `theirs` (what lies in the store), new ones of `mine` after them.
  private mutating func mergeMembers(
    _ base: Document?, _ mine: [Document.Member], _ theirs: [Document.Member], at path: DocumentPath
  ) -> Document? {
    var names = theirs.map(\.name)
    let known = Set(names)
    names += mine.map(\.name).filter { !known.contains($0) }
    let (mine, theirs) = (Document.object(mine), Document.object(theirs))
    return .object(
      names.compactMap { name in
        merge(base?[member: name], mine[member: name], theirs[member: name], at: path.appending(.member(name)))
          .map { Document.Member(name, $0) }
      })
  }
}
